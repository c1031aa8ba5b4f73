// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/kube-go/sdk/examples/document-controller/api/v1"
	"github.com/kube-go/sdk/examples/document-controller/documents"
	"github.com/kube-go/sdk/kube"
)

// unheardOf is a type that is not a registered kind.
type unheardOf struct {
	metav1.TypeMeta
	metav1.ObjectMeta `json:"metadata"`
}

// TestUnknownKindsAreReportedWithARemedy checks the errors for mistakes in the code of a program.
func TestUnknownKindsAreReportedWithARemedy(t *testing.T) {
	c := connect(t, nil)
	t.Run("an unregistered kind", func(t *testing.T) {
		_, err := kube.Namespaced[unheardOf](c, "default").Get(limit(t), "x", nil)
		if want := "generate it with kube-derive, give it a method KubeResource"; err == nil ||
			!strings.Contains(err.Error(), "e2e_test.unheardOf: not a known kind: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("error = %v, want it to contain %q", err, want)
		}
	})
	t.Run("a kind whose CustomResourceDefinition is not installed", func(t *testing.T) {
		_, err := kube.Namespaced[v1.Document](c, "default").List(limit(t), nil)
		want := "list documents.docs.example.com in default: " +
			"the server does not serve documents.docs.example.com in version v1: install its CustomResourceDefinition"
		if _, ok := errors.AsType[*kube.NotServedError](err); !ok || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error = %v, want %q", err, want)
		}
	})
	t.Run("a controller reports a missing kind and starts when it is installed", func(t *testing.T) {
		keepDocumentsAway(t, c)
		l := newLibrary(t, c)
		running := call{program: "document-controller", args: []string{"-dir", l.dir}}.start(t)
		l.removeAfter(t)
		eventually(t, "the controller reports the missing kind", func(context.Context) error {
			log := running.stderr.String()
			if want := "install its CustomResourceDefinition, enable the API"; !strings.Contains(log, want) {
				return fmt.Errorf("the log does not contain %q:\n%s", want, log)
			}
			return nil
		})
		if err := documents.Install(limit(t), c); err != nil {
			t.Fatal(err)
		}
		l.write(t, "doc", "words")
		l.awaitPublished(t, "doc", "words")
	})
}
