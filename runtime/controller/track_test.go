// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/controller"
)

// tracked is a tracker that records its calls.
type tracked struct{ *journal }

func (t tracked) Gone(key controller.Key) { t.add("gone " + key.String()) }
func (t tracked) Left(cluster string)     { t.add("left " + cluster) }
func (t tracked) Ended()                  { t.add("ended") }

// TestTrackerIsNotifiedOfObjectsThatNoLongerExist checks the notifications of a deletion, of an object that leaves with
// its cluster, also during its run, and of the end of Run.
func TestTrackerIsNotifiedOfObjectsThatNoLongerExist(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub, spoke := twoClusters(t)
		var calls journal
		created, owner := 0, new(int)
		var during func()
		c := controller.New(controller.For[document](hub.cache), &controller.Options{IgnoreOwnWrites: true})
		reconcile := func(ctx context.Context, d *document) (controller.Action, error) {
			tr, key := controller.Track(ctx, owner, func() controller.Tracker { created++; return tracked{&calls} })
			if tr == nil || key.Ref != core.RefOf(d) {
				t.Errorf("Track() = %v, %v in a run of %s", tr, key, d.Name)
			}
			if during != nil {
				during()
			}
			return controller.AwaitChange(), nil
		}
		stop := start(t, c, reconcile)
		hub.Put(documents, doc("prod/b", "1"))
		synctest.Wait()
		hub.Delete(documents, ref("prod/b"))
		synctest.Wait()
		calls.want(t, "gone hub:prod/b")

		leave := engage(t, c, spoke)
		leave()
		calls.want(t, "left spoke")
		leave = engage(t, c, spoke)
		release := make(chan struct{})
		during = func() { <-release }
		spoke.Put(documents, doc("prod/a", "2"))
		synctest.Wait()
		leave()
		calls.want(t, "left spoke")
		close(release)
		synctest.Wait()
		calls.want(t, "gone spoke:prod/a") // what the run has kept after its cluster has left

		stop()
		calls.want(t, "ended")
		if created != 1 {
			t.Errorf("%d trackers were created, want one for each Run", created)
		}
		during = nil
		stop = start(t, c, reconcile)
		stop()
		calls.want(t, "ended")
		if created != 2 {
			t.Errorf("%d trackers were created by two Runs", created)
		}
		if got := c.With(reconcile).Owners(); len(got) != 1 || got[0] != any(owner) {
			t.Errorf("Owners() = %v after two Runs, want the owner once", got)
		}
	})
	if tr, _ := controller.Track(t.Context(), "owner", nil); tr != nil {
		t.Error("Track() is not nil outside a run")
	}
}

// totals is a tracker whose owner leaves the owner "rest".
type totals struct {
	tracked
	owner any
}

func (t totals) Resume(owners []any) []any {
	return append(slices.DeleteFunc(slices.Clone(owners), func(o any) bool { return o == "rest" }), t.owner)
}

func (t totals) Retire(owners []any) []any {
	return append(slices.DeleteFunc(slices.Clone(owners), func(o any) bool { return o == t.owner }), "rest")
}

// TestOwnersOfClustersThatHaveLeftAreForgotten checks trackers of an owner for each cluster, also one that a run creates
// after its cluster has left.
func TestOwnersOfClustersThatHaveLeftAreForgotten(t *testing.T) {
	for _, keeps := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			hub, spoke := twoClusters(t)
			calls := map[string]*journal{"hub": {}, "spoke": {}}
			var during func()
			c := controller.New(controller.For[document](hub.cache), nil)
			start(t, c, func(ctx context.Context, _ *document) (controller.Action, error) {
				run, _ := controller.RunOf(ctx)
				cluster := run.Key.Cluster
				if during != nil {
					during()
				}
				controller.Track(ctx, cluster, func() controller.Tracker {
					calls[cluster].add("created")
					tr := tracked{calls[cluster]}
					if keeps {
						return totals{tr, cluster}
					}
					return tr
				})
				return controller.AwaitChange(), nil
			})
			wantOwners := func(want ...any) {
				t.Helper()
				if got := c.With(nil).Owners(); !slices.Equal(got, want) {
					t.Errorf("Owners() = %v, want %v", got, want)
				}
			}
			without, with := []any{"hub"}, []any{"hub", "spoke"}
			wantOwners("hub")
			calls["hub"].want(t, "created")
			if keeps {
				without = []any{"hub", "rest"}
			}
			for range 2 {
				leave := engage(t, c, spoke)
				wantOwners(with...)
				leave()
				wantOwners(without...)
				calls["spoke"].want(t, "created", "left spoke", "ended")
				calls["hub"].want(t, "left spoke")
			}
			leave, release := engage(t, c, spoke), make(chan struct{})
			calls["spoke"].want(t, "created")
			during = func() { <-release }
			spoke.Put(documents, doc("prod/a", "2"))
			synctest.Wait()
			leave()
			calls["spoke"].want(t, "left spoke", "ended")
			close(release)
			synctest.Wait()
			calls["spoke"].want(t, "created", "gone spoke:prod/a", "ended")
			wantOwners(without...)
			calls["hub"].want(t, "left spoke", "gone spoke:prod/a")
		})
	}
}

// TestTrackAfterTheEndOfRunIsNil checks that a goroutine with the context of an old run keeps nothing, whether or not a
// run has called Track for the owner.
func TestTrackAfterTheEndOfRunIsNil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(documents, doc("prod/a", "1"))
		create := func() controller.Tracker { return tracked{new(journal)} }
		var old context.Context
		c := controller.New(controller.For[document](w.cache), nil)
		stop := start(t, c, func(ctx context.Context, _ *document) (controller.Action, error) {
			old = ctx
			if tr, _ := controller.Track(old, "used", create); tr == nil {
				t.Error("Track() is nil during a run")
			}
			return controller.AwaitChange(), nil
		})
		stop()
		for _, owner := range []string{"used", "unused"} {
			if tr, _ := controller.Track(old, owner, create); tr != nil {
				t.Errorf("Track(%q) is not nil after the end of Run", owner)
			}
		}
	})
}
