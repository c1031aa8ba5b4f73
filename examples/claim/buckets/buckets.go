// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package buckets gives users of a namespace buckets, which are cluster-scoped: a BucketClaim declares its Bucket, is
// ready while the bucket is, and waits at its deletion until the bucket is gone.
package buckets

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/kube-go/sdk/examples/claim/api/v1"
	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/runtime/fsm"
	"github.com/kube-go/sdk/runtime/inventory"
)

// The states of a claim.
type (
	// Bind is a claim whose bucket is not ready.
	Bind     struct{}
	fromBind interface{ fromBind() }

	// Bound is a claim whose bucket is ready.
	Bound struct{}
)

func (Bound) fromBind() {}

// Step declares the bucket, and waits until it is ready. It reads the bucket as it was before: one whose size is about
// to change may still be ready.
func (Bind) Step(c *fsm.Ctx[v1.BucketClaim], to fsm.To[fromBind]) fsm.Result[fromBind] {
	meta := metav1.ObjectMeta{Name: nameOf(c.Obj)}
	spec := v1.BucketSpec{ClaimNamespace: c.Obj.Namespace, ClaimName: c.Obj.Name, Gigabytes: c.Obj.Spec.Gigabytes}
	c.Apply(inventory.Declaration{Object: &v1.Bucket{ObjectMeta: meta, Spec: spec}, Foreground: true})
	bucket := &v1.Bucket{ObjectMeta: meta}
	if _, err := c.Get(bucket); err != nil {
		return to.Retry(err)
	}
	err := kube.StatusCondition[v1.Bucket]("Ready", metav1.ConditionTrue)(bucket)
	if err != nil || bucket.Spec.Gigabytes != spec.Gigabytes {
		return to.Stay("the bucket is not ready", time.Minute)
	}
	return to.Go(Bound{})
}

// Step ends the machine. The bucket belongs to the claim: Bind has applied it, and a bucket of another owner is not
// taken over. The next pass begins at Bind again, and checks the bucket again.
func (Bound) Step(c *fsm.Ctx[v1.BucketClaim], to fsm.To[fsm.Terminal]) fsm.Result[fsm.Terminal] {
	c.Obj.Status.Bucket = nameOf(c.Obj)
	return fsm.Done(to)
}

// nameOf returns the name of the bucket of a claim. A namespace has no dots, so no other claim has this name.
func nameOf(claim *v1.BucketClaim) string { return claim.Namespace + "." + claim.Name }

// The states of a bucket.
type (
	// Resize is a bucket that gets its size.
	Resize     struct{}
	fromResize interface{ fromResize() }

	// Sized is a bucket that has its size.
	Sized struct{}
)

func (Sized) fromResize() {}

// Step makes the bucket in a storage system, which this example does not have.
func (Resize) Step(c *fsm.Ctx[v1.Bucket], to fsm.To[fromResize]) fsm.Result[fromResize] {
	c.Obj.Status.Gigabytes = c.Obj.Spec.Gigabytes
	return to.Go(Sized{})
}

// Step ends the machine.
func (Sized) Step(_ *fsm.Ctx[v1.Bucket], to fsm.To[fsm.Terminal]) fsm.Result[fsm.Terminal] {
	return fsm.Done(to)
}

// Claims returns the machine of claims.
func Claims(c *kube.Client, o *fsm.Options) *fsm.Machine[v1.BucketClaim] {
	m := fsm.New[v1.BucketClaim](c, "storage.example.com/claim", o)
	fsm.Add(m, Bind{})
	fsm.Add(m, Bound{})
	return m
}

// Buckets returns the machine of buckets.
func Buckets(c *kube.Client) *fsm.Machine[v1.Bucket] {
	m := fsm.New[v1.Bucket](c, "storage.example.com/bucket", nil)
	fsm.Add(m, Resize{})
	fsm.Add(m, Sized{})
	return m
}

// Install installs the kinds.
func Install(ctx context.Context, c *kube.Client) error {
	claims, err := kube.CRD[v1.BucketClaim]()
	if err != nil {
		return err
	}
	buckets, err := kube.CRD[v1.Bucket]()
	if err != nil {
		return err
	}
	return kube.InstallCRDs(ctx, c, []*unstructured.Unstructured{claims, buckets}, &kube.InstallOptions{FieldManager: "claim"})
}

// Run installs the kinds, and runs both machines until ctx ends or one of them fails.
func Run(ctx context.Context, c *kube.Client) error {
	if err := Install(ctx, c); err != nil {
		return err
	}
	cache := kube.NewCache(c, nil)
	view := kube.ViewOf[v1.Bucket](cache, nil)
	claims := kube.NewController(kube.For[v1.BucketClaim](cache), nil).Watches(kube.SourceView(view).Map(claimOf))
	buckets := kube.NewController(kube.ForView(view), nil)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return claims.Run(ctx, Claims(c, &fsm.Options{Views: []inventory.View{view}}).Reconcile) })
	g.Go(func() error { return buckets.Run(ctx, Buckets(c).Reconcile) })
	return g.Wait()
}

// claimOf returns the claim of a bucket.
func claimOf(_ context.Context, b *v1.Bucket) ([]kube.ObjectRef, error) {
	return []kube.ObjectRef{{Namespace: b.Spec.ClaimNamespace, Name: b.Spec.ClaimName}}, nil
}
