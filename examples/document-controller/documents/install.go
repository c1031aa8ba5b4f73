// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package documents

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/derive"
	v1 "github.com/kube-go/sdk/examples/document-controller/api/v1"
	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/runtime/wait"
)

// Install applies the CustomResourceDefinition of documents and waits until the server serves it.
func Install(ctx context.Context, c *kube.Client) error {
	crd, err := derive.CRD[v1.Document]()
	if err != nil {
		return err
	}
	crds := kube.Dynamic(c, derive.CRDResource(), "")
	if _, err := crds.Apply(ctx, crd, &kube.ApplyOptions{FieldManager: Manager, Force: true}); err != nil {
		return fmt.Errorf("install the CustomResourceDefinition: %w", err)
	}
	if _, err := wait.Await(ctx, crds, crd.GetName(), wait.Established[unstructured.Unstructured](), nil); err != nil {
		return err
	}
	return awaitServed(ctx, c)
}

// awaitServed waits until documents can be watched, which is a moment after they are established: the server first has
// to fill a cache of them, and until then says that it has no such kind, or that it is too busy.
func awaitServed(ctx context.Context, c *kube.Client) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := watchOnce(ctx, c)
		if !errors.Is(err, kube.ErrNotFound) && !errors.Is(err, kube.ErrTooManyRequests) {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// watchOnce returns the error of the first event of a watch.
func watchOnce(ctx context.Context, c *kube.Client) error {
	for _, err := range kube.ClusterWide[v1.Document](c).Watch(ctx, &kube.WatchOptions{SendInitialEvents: true}) {
		return err
	}
	return nil
}
