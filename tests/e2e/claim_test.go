// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core/machine"
	v1 "github.com/kube-go/sdk/examples/claim/api/v1"
	"github.com/kube-go/sdk/examples/claim/buckets"
	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/runtime/fsm"
	"github.com/kube-go/sdk/runtime/fsm/fsmtest"
)

// TestClaim has parts that run one after the other, since the program of the first one acts on the claims of all
// namespaces.
func TestClaim(t *testing.T) {
	t.Parallel() // the garbage collector needs up to 30 s to find a new kind
	c := connect(t, nil)
	t.Run("is ready while its bucket is", func(t *testing.T) { testClaimAndBucket(t, c) })
	t.Run("survives each crash", func(t *testing.T) { testClaimSurvivesEachCrash(t, c) })
}

// testClaimAndBucket checks that a claim is ready exactly while its bucket is, and that the bucket goes with it.
func testClaimAndBucket(t *testing.T, c *kube.Client) {
	ns := newNamespace(t, c)
	background(t, func(ctx context.Context) error { return buckets.Run(ctx, c) })
	claims, all := kube.Namespaced[v1.BucketClaim](c, ns), kube.ClusterWide[v1.Bucket](c)
	eventually(t, "the kind is installed", func(ctx context.Context) error {
		_, err := claims.Create(ctx, &v1.BucketClaim{
			ObjectMeta: metav1.ObjectMeta{Name: "photos"}, Spec: v1.BucketClaimSpec{Gigabytes: 5},
		}, nil)
		return err
	})
	ready := kube.StatusCondition[v1.BucketClaim]("Ready", metav1.ConditionTrue)
	claim, err := kube.Await(limit(t), claims, "photos", ready, nil)
	if err != nil {
		t.Fatal(err)
	}
	name := claim.Status.Bucket
	if name != ns+".photos" {
		t.Errorf("the bucket is %q", name)
	}
	grow := kube.MergePatch(map[string]any{"spec": map[string]any{"gigabytes": 7}})
	if _, err := claims.Patch(limit(t), "photos", grow, nil); err != nil {
		t.Fatal(err)
	}
	_, err = kube.Await(limit(t), all, name, func(b *v1.Bucket) error {
		if b.Status.Gigabytes != 7 {
			return fmt.Errorf("it has %d gigabytes", b.Status.Gigabytes)
		}
		return nil
	}, nil)
	if err != nil {
		t.Error(err)
	}
	if _, err := kube.Await(limit(t), claims, "photos", ready, nil); err != nil {
		t.Error(err)
	}

	if err := suspendBucket(limit(t), all, name); err != nil { // so that its own machine does not repair it
		t.Fatal(err)
	}
	set := func(status metav1.ConditionStatus) {
		t.Helper()
		_, err := all.Status().Modify(limit(t), name, func(b *v1.Bucket) error {
			for i := range b.Status.Conditions {
				if b.Status.Conditions[i].Type == "Ready" {
					b.Status.Conditions[i].Status = status
				}
			}
			return nil
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
	}
	set(metav1.ConditionFalse)
	unready := kube.StatusCondition[v1.BucketClaim]("Ready", metav1.ConditionFalse)
	if _, err := kube.Await(limit(t), claims, "photos", unready, nil); err != nil {
		t.Error(err)
	}
	set(metav1.ConditionTrue)
	if _, err := kube.Await(limit(t), claims, "photos", ready, nil); err != nil {
		t.Error(err)
	}
	if err := kube.DeleteAndWait(limit(t), claims, "photos", nil); err != nil {
		t.Error(err)
	}
	if left, err := all.GetOrNil(limit(t), name, nil); left != nil || err != nil {
		t.Errorf("the deleted claim has left %v, %v", left, err)
	}
}

// suspendBucket suspends the machine of a bucket.
func suspendBucket(ctx context.Context, all *kube.API[v1.Bucket], name string) error {
	_, err := all.Modify(ctx, name, func(b *v1.Bucket) error {
		return machine.Suspend(b, "storage.example.com/bucket", machine.Suspension{
			Reason: "the test sets its status", By: "test", WhenDeleted: machine.Proceed,
		})
	}, nil)
	return err
}

// testClaimSurvivesEachCrash kills the program before and after each of its writes, from the creation of a claim to its
// deletion. The bucket is made by a program that is not killed.
func testClaimSurvivesEachCrash(t *testing.T, c *kube.Client) {
	if err := buckets.Install(limit(t), c); err != nil {
		t.Fatal(err)
	}
	coverage, ns := new(fsmtest.Coverage), newNamespace(t, c)
	ready := kube.StatusCondition[v1.BucketClaim]("Ready", metav1.ConditionTrue)
	all := kube.ClusterWide[v1.Bucket](c)
	awaitCollector(t, all)
	fsmtest.Crash(t, fsmtest.Scenario[v1.BucketClaim]{
		Connect: atWrites(t, c),
		Machine: func(c *kube.Client) *fsm.Machine[v1.BucketClaim] {
			return buckets.Claims(c, &fsm.Options{OnStep: coverage.OnStep})
		},
		Create: func(tb testing.TB, c *kube.Client) *v1.BucketClaim {
			tb.Helper()
			claim, err := kube.Namespaced[v1.BucketClaim](c, ns).Create(tb.Context(), &v1.BucketClaim{
				ObjectMeta: metav1.ObjectMeta{GenerateName: "crash-"}, Spec: v1.BucketClaimSpec{Gigabytes: 5},
			}, nil)
			if err != nil {
				tb.Fatal(err)
			}
			return claim
		},
		Between: func(tb testing.TB, c *kube.Client, claim *v1.BucketClaim) {
			tb.Helper()
			bucket, err := all.GetOrNil(tb.Context(), ns+"."+claim.Name, nil)
			switch {
			case err != nil || bucket == nil:
			case bucket.DeletionTimestamp != nil:
				// Otherwise the number of passes and requests would depend on how busy the garbage collector is.
				err = kube.AwaitGone(tb.Context(), all, bucket.Name, bucket.UID, nil)
			default:
				_, err = buckets.Buckets(c).Reconcile(tb.Context(), bucket)
			}
			if err == nil && ready(claim) == nil && claim.DeletionTimestamp == nil {
				err = kube.Namespaced[v1.BucketClaim](c, ns).Delete(tb.Context(), claim.Name, nil)
			}
			if err != nil {
				tb.Error(err)
			}
		},
		Done:    func(claim *v1.BucketClaim) bool { return claim == nil },
		Timeout: 3 * time.Minute, // other tests delete kinds, which delays the garbage collector by up to 30 s each time
		Final: func(tb testing.TB, _ *kube.Client, _ *v1.BucketClaim) string {
			tb.Helper()
			var left []string
			for bucket, err := range all.All(tb.Context(), nil) {
				if err != nil {
					tb.Fatal(err)
				}
				if strings.HasPrefix(bucket.Name, ns+".") {
					left = append(left, bucket.Name)
				}
			}
			return strings.Join(left, " ")
		},
	})
	coverage.Check(t, buckets.Claims(c, nil).Graph())
}

// awaitCollector waits until the garbage collector has found the kind of the buckets.
func awaitCollector(t *testing.T, all *kube.API[v1.Bucket]) {
	t.Helper()
	bucket, err := all.Create(limit(t), &v1.Bucket{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "collected-"}, Spec: v1.BucketSpec{Gigabytes: 1},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := kube.DeleteAndWait(limit(t), all, bucket.Name, &kube.DeleteOptions{Propagation: "Foreground"}); err != nil {
		t.Fatal(err)
	}
}
