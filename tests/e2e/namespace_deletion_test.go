// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/kube"
)

// TestWaitForANamespaceSaysWhatDelaysItsDeletion checks that the error of a wait has the objects and the finalizers for
// which the server waits, and that the wait ends when the last finalizer is removed.
func TestWaitForANamespaceSaysWhatDelaysItsDeletion(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	namespaces := kube.ClusterWide[corev1.Namespace](c)
	ns, err := namespaces.Create(limit(t), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "held-"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	held := configMap("held", "1")
	held.Finalizers = []string{"example.com/held"}
	maps := mustCreate(t, c, ns.Name, held)
	release := func(ctx context.Context) error {
		patch := kube.MergePatch(map[string]any{"metadata": map[string]any{"finalizers": nil}})
		_, err := maps.Patch(ctx, held.Name, patch, nil)
		return err
	}
	t.Cleanup(func() {
		if t.Failed() {
			_ = release(context.WithoutCancel(t.Context())) // it may be released already
		}
	})
	for _, tt := range []struct {
		name string
		wait func(context.Context) error
	}{ // the first one deletes the namespace
		{"DeleteAndWait", func(ctx context.Context) error { return kube.DeleteAndWait(ctx, namespaces, ns.Name, nil) }},
		{"AwaitGone", func(ctx context.Context) error { return kube.AwaitGone(ctx, namespaces, ns.Name, ns.UID, nil) }},
	} {
		eventually(t, tt.name+" says what delays the deletion", func(ctx context.Context) error { // when the server has tried it
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			err := tt.wait(ctx)
			if err == nil {
				t.Fatalf("%s returns although the namespace exists", tt.name)
			}
			for _, part := range []string{
				"await namespaces " + ns.Name + ": ",
				"it is being deleted and waits for the finalizers kubernetes of its spec",
				"condition NamespaceContentRemaining is True: SomeResourcesRemain: ", "configmaps. has 1 resource instances",
				"condition NamespaceFinalizersRemaining is True: SomeFinalizersRemain: ", "example.com/held in 1 resource instances",
			} {
				if !strings.Contains(err.Error(), part) {
					return fmt.Errorf("the error has no %q: %w", part, err)
				}
			}
			if !errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "is False") {
				return fmt.Errorf("want the end of the context, and no conditions that are False: %w", err)
			}
			return nil
		})
	}
	if err := release(limit(t)); err != nil {
		t.Fatal(err)
	}
	if err := kube.AwaitGone(limit(t), namespaces, ns.Name, ns.UID, nil); err != nil {
		t.Error(err)
	}
	if _, err := namespaces.Get(limit(t), ns.Name, nil); !errors.Is(err, kube.ErrNotFound) {
		t.Errorf("Get after the wait = %v, want ErrNotFound", err)
	}
}
