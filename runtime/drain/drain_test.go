// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package drain_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-go/sdk/runtime/drain"
)

// run drains the node in a bubble, in which time costs nothing, and returns each state that a pod went through.
func run(t *testing.T, c *cluster, o drain.Options, limit time.Duration) (told []string, report *drain.Report, err error) {
	t.Helper()
	o.Progress = func(p drain.Pod) { told = append(told, strings.TrimPrefix(p.String(), "prod/")) }
	ctx, cancel := context.WithTimeoutCause(t.Context(), limit, errors.New("time is up"))
	defer cancel()
	report, err = drain.Node(ctx, c.client(ctx), "n1", &o)
	c.timers.Wait()
	slices.SortStableFunc(told, func(a, b string) int { // pods go in any order, each of them through its states in one
		podA, _, _ := strings.Cut(a, ":")
		podB, _, _ := strings.Cut(b, ":")
		return strings.Compare(podA, podB)
	})
	return told, report, err
}

// TestNode promises that pods go through the states they should.
func TestNode(t *testing.T) {
	const (
		needs    = "a: blocked: disruption budget web: needs 2 healthy pods and has 2 currently"
		conflict = `conflict: server said: Operation cannot be fulfilled on poddisruptionbudgets.policy "web": the object has been modified`
		unserved = "the server does not serve pods/eviction in version v1: enable the subresource, or do without it"
	)
	tests := []struct {
		name    string
		pods    []*podSpec
		o       drain.Options
		limit   time.Duration // one hour by default
		want    []string
		wantErr string
	}{
		{name: "an empty node"},
		{
			name: "pods of a controller are evicted and waited for",
			pods: []*podSpec{{name: "a", owner: "ReplicaSet/r", lingers: time.Minute}, {name: "b", owner: "Job/j"}},
			want: []string{"a: pending", "a: evicted", "a: gone", "b: pending", "b: evicted", "b: gone"},
		},
		{
			name: "what the node runs itself stays",
			pods: []*podSpec{{name: "a", mirror: true, owner: "Node/n1"}},
			want: []string{"a: skipped: the node itself runs it"},
		},
		{
			name: "the pods of a daemon set stay when that was asked for",
			pods: []*podSpec{{name: "a", owner: "DaemonSet/agent"}},
			o:    drain.Options{IgnoreDaemonSets: true},
			want: []string{"a: skipped: daemon set agent keeps it there"},
		},
		{
			name: "what is finished goes without further questions",
			pods: []*podSpec{{name: "a", phase: "Succeeded", emptyDir: true}, {name: "b", phase: "Failed", owner: "DaemonSet/agent"}},
			want: []string{"a: pending", "a: evicted", "a: gone", "b: pending", "b: evicted", "b: gone"},
		},
		{
			name: "what would be lost goes when that was asked for",
			pods: []*podSpec{{name: "a"}, {name: "b", owner: "DaemonSet/lost"}, {name: "c", emptyDir: true, owner: "Job/j"}},
			o:    drain.Options{Force: true, DeleteEmptyDirData: true},
			want: []string{
				"a: pending", "a: evicted", "a: gone", "b: pending", "b: evicted", "b: gone", "c: pending", "c: evicted", "c: gone",
			},
		},
		{
			name: "a pod that would be lost twice is refused unless both are asked for",
			pods: []*podSpec{{name: "a", owner: "DaemonSet/lost", emptyDir: true}}, o: drain.Options{Force: true},
			wantErr: "drain node n1: 1 pod stays: prod/a: refused: it has an emptyDir volume; set DeleteEmptyDirData to lose the data",
		},
		{
			name: "a pod that is being deleted is waited for",
			pods: []*podSpec{{name: "a", deleting: true, stays: true, finalizers: []string{"x/guard"}}},
			want: []string{"a: evicted: it is being deleted already"}, limit: time.Minute,
			wantErr: "drain node n1: time is up; 1 pod stays: prod/a: evicted: it waits for its finalizers x/guard",
		},
		{
			name: "a pod that is being deleted may be given less time",
			pods: []*podSpec{{name: "a", deleting: true}}, o: drain.Options{GracePeriod: new(time.Second)},
			want: []string{"a: pending", "a: evicted", "a: gone"},
		},
		{
			name: "a pod of a daemon set that is being deleted is not waited for: another one comes",
			pods: []*podSpec{{name: "a", deleting: true, stays: true, owner: "DaemonSet/agent"}},
			o:    drain.Options{IgnoreDaemonSets: true},
			want: []string{"a: skipped: daemon set agent keeps it there"},
		},
		{
			name: "a pod of a daemon set that is gone is waited for when it is being deleted",
			pods: []*podSpec{{name: "a", deleting: true, stays: true, owner: "DaemonSet/lost"}},
			want: []string{"a: evicted: it is being deleted already"}, limit: time.Minute,
			wantErr: "drain node n1: time is up; 1 pod stays: prod/a: evicted: it has been asked to go, and has not ended yet",
		},
		{
			name: "a disruption budget is respected",
			pods: []*podSpec{{name: "a", owner: "ReplicaSet/r", refusals: []string{"budget", "budget", "budget"}}},
			want: []string{"a: pending", needs, "a: evicted", "a: gone"},
		},
		{
			name: "trouble passes",
			pods: []*podSpec{{name: "a", owner: "ReplicaSet/r", refusals: []string{"busy", "ending namespace"}}},
			want: []string{
				"a: pending", "a: blocked: service unavailable: server said: try again",
				"a: blocked: forbidden: server said: unable to create new content in namespace prod because it is being terminated",
				"a: evicted", "a: gone",
			},
		},
		{
			name: "a pod that was replaced by another of the same name is gone when the watch reports it",
			pods: []*podSpec{{name: "a", owner: "StatefulSet/s", refusals: slices.Repeat([]string{"replaced"}, 10)}},
			want: []string{"a: pending", "a: blocked: conflict: server said: Precondition failed: UID in precondition: u-a, UID in object meta: u-b", "a: gone"},
		},
		{
			name: "a pod that does not exist is gone when the watch reports it",
			pods: []*podSpec{{name: "a", owner: "Job/j", refusals: []string{"gone"}}},
			want: []string{"a: pending", "a: evicted", "a: gone"},
		},
		{
			name: "a conflict about a disruption budget does not count as gone", limit: time.Minute,
			pods:    []*podSpec{{name: "a", owner: "ReplicaSet/r", stays: true, refusals: []string{"conflict"}}},
			want:    []string{"a: pending", "a: blocked: " + conflict, "a: evicted"},
			wantErr: "drain node n1: time is up; 1 pod stays: prod/a: evicted: it has been asked to go, and has not ended yet",
		},
		{
			name:    "a server that does not serve evictions fails the pod",
			pods:    []*podSpec{{name: "a", owner: "ReplicaSet/r", refusals: []string{"not served"}}},
			want:    []string{"a: pending", "a: failed: " + unserved},
			wantErr: "drain node n1: 1 pod stays: prod/a: failed: " + unserved,
		},
		{
			name: "what fails for good does not keep the others",
			pods: []*podSpec{
				{name: "a", owner: "ReplicaSet/r", refusals: []string{"forbidden"}},
				{name: "b", owner: "ReplicaSet/r", lingers: time.Minute},
			},
			want:    []string{"a: pending", "a: failed: forbidden: server said: not you", "b: pending", "b: evicted", "b: gone"},
			wantErr: "drain node n1: 1 pod stays: prod/a: failed: forbidden: server said: not you",
		},
		{
			name: "when time is up, everything that stays is named", limit: time.Minute,
			pods: []*podSpec{
				{name: "a", owner: "ReplicaSet/r", refusals: slices.Repeat([]string{"budget"}, 1000)},
				{name: "b", owner: "ReplicaSet/r", stays: true},
				{name: "c", owner: "ReplicaSet/r"},
			},
			want:    []string{"a: pending", needs, "b: pending", "b: evicted", "c: pending", "c: evicted", "c: gone"},
			wantErr: "drain node n1: time is up; 2 pods stay: prod/" + needs + "; prod/b: evicted: it has been asked to go, and has not ended yet",
		},
		{
			name: "only selected pods go",
			pods: []*podSpec{{name: "a", owner: "Job/j"}, {name: "b", owner: "Job/j", labels: map[string]string{"go": "now"}}},
			o:    drain.Options{PodSelector: "go=now"},
			want: []string{"b: pending", "b: evicted", "b: gone"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t, tt.pods...)
				c.daemonSets = []string{"agent"}
				if tt.limit == 0 {
					tt.limit = time.Hour
				}
				told, report, err := run(t, c, tt.o, tt.limit)
				if got := text(err); got != tt.wantErr {
					t.Errorf("error = %s\nwant %s", got, tt.wantErr)
				}
				if diff := cmp.Diff(tt.want, told); diff != "" {
					t.Errorf("states (-want +got):\n%s", diff)
				}
				if refused := strings.Contains(tt.wantErr, "refused"); c.cordoned == refused || report.Node != "n1" {
					t.Errorf("cordoned = %v, node = %s", c.cordoned, report.Node)
				}
			})
		})
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestNodeRefuses promises that nothing is done at all when pods would be lost, and that all of them are named.
func TestNodeRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t,
			&podSpec{name: "a"}, &podSpec{name: "b", owner: "DaemonSet/agent"}, &podSpec{name: "c", owner: "DaemonSet/lost"},
			&podSpec{name: "d", owner: "Job/j", emptyDir: true}, &podSpec{name: "e", owner: "Job/j"})
		c.daemonSets = []string{"agent"}
		told, report, err := run(t, c, drain.Options{}, time.Hour)
		const want = "drain node n1: 4 pods stay: prod/a: refused: no controller makes it again; set Force to lose it; " +
			"prod/b: refused: daemon set agent would make it again; set IgnoreDaemonSets to leave it; " +
			"prod/c: refused: its daemon set lost is gone; set Force to lose it; " +
			"prod/d: refused: it has an emptyDir volume; set DeleteEmptyDirData to lose the data"
		if text(err) != want {
			t.Errorf("error = %v\nwant %s", err, want)
		}
		if e, ok := errors.AsType[*drain.Error](err); !ok || len(e.Pods) != 4 || e.Pods[0].UID != "u-a" {
			t.Errorf("error = %#v", err)
		}
		if told != nil || c.cordoned || c.evicted != nil || len(report.Pods) != 5 {
			t.Errorf("told %v, cordoned %v, evicted %v, report %v", told, c.cordoned, c.evicted, report)
		}
	})
}

// TestNodeLooksAgain promises that pods which come before the node is cordoned are looked at, too.
func TestNodeLooksAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.arriving = []*podSpec{{name: "late"}}
		_, _, err := run(t, c, drain.Options{}, time.Hour)
		const want = "drain node n1: 1 pod stays: prod/late: refused: no controller makes it again; set Force to lose it"
		if text(err) != want || !c.cordoned {
			t.Errorf("error = %v, cordoned = %v, want %s, and cordoned", err, c.cordoned, want)
		}
	})
}

// TestNodeWatches promises that trouble of the watch does not keep a drain from noticing that pods are gone.
func TestNodeWatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, &podSpec{name: "a", owner: "Job/j", lingers: 10 * time.Minute})
		c.failLists = 2
		c.timers.Go(func() {
			for _, cause := range []error{nil, io.ErrUnexpectedEOF} {
				time.Sleep(time.Minute)
				c.cut(cause)
			}
			for _, reason := range []string{"Expired", "Gone"} {
				time.Sleep(time.Minute)
				c.expire(reason)
			}
		})
		began := time.Now()
		_, _, err := run(t, c, drain.Options{}, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took < 10*time.Minute || took > 11*time.Minute {
			t.Errorf("the drain took %v, want a little more than ten minutes", took)
		}
	})
}

// TestNodeAsks looks at how pods are asked to go.
func TestNodeAsks(t *testing.T) {
	tests := []struct {
		name string
		o    drain.Options
		want string
	}{
		{"by an eviction", drain.Options{}, "evict map[apiVersion:v1 kind:DeleteOptions preconditions:map[uid:u-a]]"},
		{
			"by an eviction with a grace period",
			drain.Options{GracePeriod: new(5 * time.Second)},
			"evict map[apiVersion:v1 gracePeriodSeconds:5 kind:DeleteOptions preconditions:map[uid:u-a]]",
		},
		{
			"by deletion",
			drain.Options{DisableEviction: true, GracePeriod: new(time.Duration(0))},
			"delete map[apiVersion:v1 gracePeriodSeconds:0 kind:DeleteOptions preconditions:map[uid:u-a]]",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t, &podSpec{name: "a", owner: "Job/j"})
				if _, _, err := run(t, c, tt.o, time.Hour); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff([]string{tt.want}, c.queries); diff != "" {
					t.Errorf("asked (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestNodeChecks promises that what can't be honoured is refused before anything is done.
func TestNodeChecks(t *testing.T) {
	for name, tt := range map[string]struct {
		o    drain.Options
		want string
	}{
		"a negative grace period": {drain.Options{GracePeriod: new(-time.Second)}, "request not sent: drain.Options.GracePeriod: -1s is not a number of whole seconds"},
		"half a second":           {drain.Options{GracePeriod: new(time.Second / 2)}, "request not sent: drain.Options.GracePeriod: 500ms is not a number of whole seconds"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, &podSpec{name: "a", owner: "Job/j"})
			report, err := drain.Node(t.Context(), c.client(t.Context()), "n1", &tt.o)
			if text(err) != tt.want || report != nil || c.cordoned {
				t.Errorf("Node = %v, %v; cordoned %v; want %s", report, err, c.cordoned, tt.want)
			}
		})
	}
}
