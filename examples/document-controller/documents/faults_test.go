// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package documents_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/kube-go/sdk/examples/document-controller/api/v1"
	"github.com/kube-go/sdk/examples/document-controller/documents"
	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/kubetest"
)

// scenario runs the controller with a document. dir is the directory of the pages.
func scenario(dir string, story func(*kubetest.Server)) *kubetest.Scenario {
	return &kubetest.Scenario{
		Options: &kubetest.Options{
			Definitions: []func() (*unstructured.Unstructured, error){kube.CRD[v1.Document]},
			Objects:     []kube.Object{notes("# one")},
		},
		Program: func(ctx context.Context, c *kube.Client) error {
			return documents.Run(ctx, c, &documents.Options{Dir: dir})
		},
		Story: story,
	}
}

func TestDocumentsArePublishedInSpiteOfFaults(t *testing.T) {
	kubetest.Explore(t, func(t *testing.T) *kubetest.Scenario {
		dir := t.TempDir()
		return scenario(dir, func(s *kubetest.Server) {
			c := s.Client(nil)
			w := &world{
				docs: kube.Namespaced[v1.Document](c, "prod"), maps: kube.Namespaced[corev1.ConfigMap](c, "prod"),
				file: filepath.Join(dir, "prod", "notes", "index.html"),
			}
			s.Settle()
			if got := w.status(t); !ready(got) || got.Words != 2 {
				t.Errorf("status = %+v, want Ready with two words", got)
			}
			if _, err := w.docs.Modify(t.Context(), "notes", func(d *v1.Document) error {
				d.Spec.Body = "# two words more"
				return nil
			}, nil); err != nil {
				t.Fatal(err)
			}
			s.Settle()
			if got := w.status(t); !ready(got) || got.Words != 4 {
				t.Errorf("status = %+v, want Ready with four words", got)
			}
			if err := w.docs.Delete(t.Context(), "notes", nil); err != nil {
				t.Fatal(err)
			}
			s.Settle()
			if _, err := w.maps.Get(t.Context(), "notes", nil); !errors.Is(err, kube.ErrNotFound) {
				t.Errorf("Get of the page = %v, want ErrNotFound", err)
			}
			if _, err := os.Stat(w.file); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the file: %v, want that it is removed", err)
			}
		})
	})
}

func TestPagesFollowTheirDocuments(t *testing.T) {
	kubetest.ExploreChanges(t, func(t *testing.T) *kubetest.Scenario { return scenario(t.TempDir(), nil) })
}
