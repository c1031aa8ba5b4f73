// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wait_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/runtime/internal/fakeapi"
	"github.com/kube-go/sdk/runtime/wait"
)

// gadget is a kind with an unknown resource.
type gadget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
}

// TestWaitThatCannotBeginEndsAtOnce checks that a wait does not retry a mistake of the caller.
func TestWaitThatCannotBeginEndsAtOnce(t *testing.T) {
	docs := client.Namespaced[document](nil, "prod")
	for _, tt := range []struct {
		name string
		wait func(context.Context, *server) error
		want string
	}{
		{"Await with a nil client", func(ctx context.Context, _ *server) error {
			_, err := wait.Await(ctx, docs, "a", running, nil)
			return err
		}, "client: is nil: pass one of client.New"},
		{"Gone with a nil client", func(ctx context.Context, _ *server) error {
			return wait.Gone(ctx, docs, "a", "", nil)
		}, "client: is nil: pass one of client.New"},
		{"DeleteAndWait with a nil client", func(ctx context.Context, _ *server) error {
			return wait.DeleteAndWait(ctx, docs, "a", nil)
		}, "client: is nil: pass one of client.New"},
		{"Await of an unknown kind", func(ctx context.Context, s *server) error {
			_, err := wait.Await(ctx, client.Namespaced[gadget](fakeapi.ClientOf(s), "prod"), "a", wait.Exists[gadget](), nil)
			return err
		}, "gadget"},
		{"Await without a condition", func(ctx context.Context, s *server) error {
			_, err := wait.Await(ctx, s.docs(t), "a", nil, nil)
			return err
		}, "condition: is nil: pass one such as wait.Exists"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				start := time.Now()
				err := tt.wait(ctx, &server{})
				if !strings.Contains(message(err), tt.want) || time.Since(start) > 0 {
					t.Errorf("error after %v = %v, want %q at once", time.Since(start), err, tt.want)
				}
			})
		})
	}
}
