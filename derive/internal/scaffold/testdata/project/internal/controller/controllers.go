// Package controller has the controllers of this project. Each kind has a file with its reconcile.
package controller

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/kube"

	v1 "example.com/kube-project/api/v1"
)

// FieldManager owns the fields that the controllers write.
const FieldManager = "widget-controller"

// Add adds the controllers to a manager. kube-derive add kind appends a line.
func Add(m *kube.Manager, c *kube.Client) {
	// The cache has one watch for each kind, which all controllers share.
	cache := kube.NewCache(c, nil)
	addWidget(m, c, cache)
}

// definitions returns the CustomResourceDefinitions. kube-derive add kind appends a line.
func definitions() []func() (*unstructured.Unstructured, error) {
	return []func() (*unstructured.Unstructured, error){
		kube.CRD[v1.Widget],
	}
}

// Install installs the CustomResourceDefinitions, after changes, and waits until the server serves the kinds. It takes
// them over from make deploy, and the reverse: both have the field manager kubectl.
func Install(ctx context.Context, c *kube.Client, changes ...func(*unstructured.Unstructured) error) error {
	var crds []*unstructured.Unstructured
	for _, definition := range definitions() {
		crd, err := definition()
		if err != nil {
			return err
		}
		for _, change := range changes {
			if err := change(crd); err != nil {
				return err
			}
		}
		crds = append(crds, crd)
	}
	return kube.InstallCRDs(ctx, c, crds, &kube.InstallOptions{FieldManager: "kubectl"})
}
