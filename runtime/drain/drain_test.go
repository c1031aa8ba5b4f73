// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package drain_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/drain"
)

// run drains the node in a bubble, where waiting takes no real time, and returns each state of each pod.
func run(t *testing.T, c *cluster, o drain.Options, limit time.Duration) (told []string, report *drain.Report, err error) {
	t.Helper()
	o.Progress = func(p drain.Pod) { told = append(told, strings.TrimPrefix(p.String(), "prod/")) }
	ctx, cancel := context.WithTimeoutCause(t.Context(), limit, errors.New("time is up"))
	defer cancel()
	report, err = drain.Node(ctx, c.client(ctx), "n1", &o)
	c.timers.Wait()
	slices.SortStableFunc(told, func(a, b string) int { // orders by pod; keeps the order of each pod's states
		podA, _, _ := strings.Cut(a, ":")
		podB, _, _ := strings.Cut(b, ":")
		return strings.Compare(podA, podB)
	})
	return told, report, err
}

// TestNodeMovesPodsThroughTheirStates checks the states of each pod, and the final error.
func TestNodeMovesPodsThroughTheirStates(t *testing.T) {
	const (
		needs    = "a: blocked: disruption budget web: needs 2 healthy pods and has 2 currently"
		conflict = `conflict: server said: Operation cannot be fulfilled on poddisruptionbudgets.policy "web": the object has been modified`
		budgets  = "more than one PodDisruptionBudget selects it, so the server never evicts it: change their selectors so that " +
			"only one does, or set DisableEviction to ignore them"
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
			name: "pods of a controller are evicted",
			pods: []*podSpec{{name: "a", owner: "ReplicaSet/r", lingers: time.Minute}, {name: "b", owner: "Job/j"}},
			want: []string{"a: pending", "a: evicted", "a: gone", "b: pending", "b: evicted", "b: gone"},
		},
		{
			name: "a mirror pod is skipped",
			pods: []*podSpec{{name: "a", mirror: true, owner: "Node/n1"}},
			want: []string{"a: skipped: it is a mirror pod of the node"},
		},
		{
			name: "pods of a daemon set are skipped with IgnoreDaemonSets",
			pods: []*podSpec{{name: "a", owner: "DaemonSet/agent"}},
			o:    drain.Options{IgnoreDaemonSets: true},
			want: []string{"a: skipped: daemon set agent manages it"},
		},
		{
			name: "a finished pod is evicted without any option",
			pods: []*podSpec{{name: "a", phase: "Succeeded", emptyDir: true}, {name: "b", phase: "Failed", owner: "DaemonSet/agent"}},
			want: []string{"a: pending", "a: evicted", "a: gone", "b: pending", "b: evicted", "b: gone"},
		},
		{
			name: "pods that would be lost are evicted with the options for it",
			pods: []*podSpec{{name: "a"}, {name: "b", owner: "DaemonSet/lost"}, {name: "c", emptyDir: true, owner: "Job/j"}},
			o:    drain.Options{Force: true, DeleteEmptyDirData: true},
			want: []string{
				"a: pending", "a: evicted", "a: gone", "b: pending", "b: evicted", "b: gone", "c: pending", "c: evicted", "c: gone",
			},
		},
		{
			name: "a pod without a controller and with data needs both options",
			pods: []*podSpec{{name: "a", owner: "DaemonSet/lost", emptyDir: true}}, o: drain.Options{Force: true},
			wantErr: "drain node n1: 1 pod remains: prod/a: refused: it has an emptyDir volume: set DeleteEmptyDirData to delete its data",
		},
		{
			name: "the drain waits for a terminating pod",
			pods: []*podSpec{{name: "a", deleting: true, stays: true, finalizers: []string{"x/guard"}}},
			want: []string{"a: evicted: it is terminating already"}, limit: time.Minute,
			wantErr: "drain node n1: time is up; 1 pod remains: prod/a: evicted: it waits for its finalizers x/guard",
		},
		{
			name: "a terminating pod is deleted again with a GracePeriod",
			pods: []*podSpec{{name: "a", deleting: true}}, o: drain.Options{GracePeriod: new(time.Second)},
			want: []string{"a: pending", "a: evicted", "a: gone"},
		},
		{
			name: "a terminating pod of a daemon set is skipped, because it is recreated",
			pods: []*podSpec{{name: "a", deleting: true, stays: true, owner: "DaemonSet/agent"}},
			o:    drain.Options{IgnoreDaemonSets: true},
			want: []string{"a: skipped: daemon set agent manages it"},
		},
		{
			name: "the drain waits for a terminating pod of a deleted daemon set",
			pods: []*podSpec{{name: "a", deleting: true, stays: true, owner: "DaemonSet/lost"}},
			want: []string{"a: evicted: it is terminating already"}, limit: time.Minute,
			wantErr: "drain node n1: time is up; 1 pod remains: prod/a: evicted: it has not terminated yet",
		},
		{
			name: "a disruption budget is respected",
			pods: []*podSpec{{name: "a", owner: "ReplicaSet/r", refusals: []string{"budget", "budget", "budget"}}},
			want: []string{"a: pending", needs, "a: evicted", "a: gone"},
		},
		{
			name: "failures that may pass are retried",
			pods: []*podSpec{{name: "a", owner: "ReplicaSet/r", refusals: []string{"busy", "ending namespace"}}},
			want: []string{
				"a: pending", "a: blocked: service unavailable: server said: try again",
				"a: blocked: forbidden: server said: unable to create new content in namespace prod because it is being terminated",
				"a: evicted", "a: gone",
			},
		},
		{
			name: "a replaced pod is gone once the watch reports its deletion",
			pods: []*podSpec{{name: "a", owner: "StatefulSet/s", refusals: slices.Repeat([]string{"replaced"}, 10)}},
			want: []string{"a: pending", "a: blocked: conflict: server said: Precondition failed: UID in precondition: u-a, UID in object meta: u-b", "a: gone"},
		},
		{
			name: "a missing pod is gone once the watch reports its deletion",
			pods: []*podSpec{{name: "a", owner: "Job/j", refusals: []string{"gone"}}},
			want: []string{"a: pending", "a: evicted", "a: gone"},
		},
		{
			name: "a conflict about a disruption budget does not mean that the pod is deleted", limit: time.Minute,
			pods:    []*podSpec{{name: "a", owner: "ReplicaSet/r", stays: true, refusals: []string{"conflict"}}},
			want:    []string{"a: pending", "a: blocked: " + conflict, "a: evicted"},
			wantErr: "drain node n1: time is up; 1 pod remains: prod/a: evicted: it has not terminated yet",
		},
		{
			name:    "a server that does not serve evictions fails the pod",
			pods:    []*podSpec{{name: "a", owner: "ReplicaSet/r", refusals: []string{"not served"}}},
			want:    []string{"a: pending", "a: failed: " + unserved},
			wantErr: "drain node n1: 1 pod remains: prod/a: failed: " + unserved,
		},
		{
			name: "a pod with several disruption budgets fails, and does not stop the others",
			pods: []*podSpec{
				{name: "a", owner: "ReplicaSet/r", refusals: slices.Repeat([]string{"two budgets"}, 1000)},
				{name: "b", owner: "ReplicaSet/r", lingers: time.Minute},
			},
			want:    []string{"a: pending", "a: failed: " + budgets, "b: pending", "b: evicted", "b: gone"},
			wantErr: "drain node n1: 1 pod remains: prod/a: failed: " + budgets,
		},
		{
			name: "a permanent failure of one pod does not stop the others",
			pods: []*podSpec{
				{name: "a", owner: "ReplicaSet/r", refusals: []string{"forbidden"}},
				{name: "b", owner: "ReplicaSet/r", lingers: time.Minute},
			},
			want:    []string{"a: pending", "a: failed: forbidden: server said: not you", "b: pending", "b: evicted", "b: gone"},
			wantErr: "drain node n1: 1 pod remains: prod/a: failed: forbidden: server said: not you",
		},
		{
			name: "the error of a timeout names every remaining pod", limit: time.Minute,
			pods: []*podSpec{
				{name: "a", owner: "ReplicaSet/r", refusals: slices.Repeat([]string{"budget"}, 1000)},
				{name: "b", owner: "ReplicaSet/r", stays: true},
				{name: "c", owner: "ReplicaSet/r"},
			},
			want:    []string{"a: pending", needs, "b: pending", "b: evicted", "c: pending", "c: evicted", "c: gone"},
			wantErr: "drain node n1: time is up; 2 pods remain: prod/" + needs + "; prod/b: evicted: it has not terminated yet",
		},
		{
			name: "pods that Skip selects stay, whatever they are",
			pods: []*podSpec{
				{name: "a"},
				{name: "b", owner: "DaemonSet/agent", labels: map[string]string{"stays": "yes"}},
				{name: "c", mirror: true},
				{name: "d", deleting: true, stays: true, labels: map[string]string{"stays": "yes"}},
			},
			o: drain.Options{Force: true, Skip: func(p *corev1.Pod) bool { return p.Labels["stays"] == "yes" }},
			want: []string{
				"a: pending", "a: evicted", "a: gone", "b: skipped: Options.Skip selects it",
				"c: skipped: it is a mirror pod of the node",
				"d: skipped: Options.Skip selects it",
			},
		},
		{
			name: "only selected pods are evicted",
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

// TestNodeRefusesBeforeItChangesAnything checks that Node changes nothing if pods would be lost, and names all of them.
func TestNodeRefusesBeforeItChangesAnything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t,
			&podSpec{name: "a"}, &podSpec{name: "b", owner: "DaemonSet/agent"}, &podSpec{name: "c", owner: "DaemonSet/lost"},
			&podSpec{name: "d", owner: "Job/j", emptyDir: true}, &podSpec{name: "e", owner: "Job/j"})
		c.daemonSets = []string{"agent"}
		told, report, err := run(t, c, drain.Options{}, time.Hour)
		const want = "drain node n1: 4 pods remain: prod/a: refused: no controller recreates it: set Force to delete it; " +
			"prod/b: refused: daemon set agent would recreate it: set IgnoreDaemonSets to skip it; " +
			"prod/c: refused: its daemon set lost is deleted: set Force to delete it; " +
			"prod/d: refused: it has an emptyDir volume: set DeleteEmptyDirData to delete its data"
		if text(err) != want {
			t.Errorf("error = %v\nwant %s", err, want)
		}
		if e, ok := errors.AsType[*drain.Error](err); !ok || len(e.Pods) != 4 || e.Pods[0].UID != "u-a" {
			t.Errorf("error = %#v", err)
		}
		if told != nil || c.cordoned || c.evicted != nil || len(report.Pods) != 5 {
			t.Errorf("progress %v, cordoned %v, evicted %v, report %v", told, c.cordoned, c.evicted, report)
		}
	})
}

// TestNodeThatMayNotWatchChangesNothing checks that a missing permission to watch pods is an error before the cordon.
// The role of kubectl drain lacks it.
func TestNodeThatMayNotWatchChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, &podSpec{name: "a", owner: "Job/j"})
		c.noWatch = true
		told, report, err := run(t, c, drain.Options{}, time.Hour)
		if !errors.Is(err, core.ErrForbidden) || !strings.HasPrefix(err.Error(), "watch the pods of node n1: ") {
			t.Errorf("error = %v, want that of the watch", err)
		}
		if told != nil || c.cordoned || c.evicted != nil || len(report.Pods) != 1 {
			t.Errorf("progress %v, cordoned %v, evicted %v, report %v", told, c.cordoned, c.evicted, report)
		}
	})
}

// TestNodeWaitsForItsWatchBeforeTheCordon checks that the time may end before the cordon, and that the error has the
// last failure of the watch.
func TestNodeWaitsForItsWatchBeforeTheCordon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, &podSpec{name: "a", owner: "Job/j"})
		busy := middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
			if r.URL.Query().Has("watch") && !r.URL.Query().Has("sendInitialEvents") {
				return nil, io.ErrUnexpectedEOF
			}
			return c.RoundTrip(r)
		})
		cl, err := client.New(t.Context(), &client.Options{
			Config: &config.Config{Server: "https://cluster.test"}, Transport: busy,
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err = drain.Node(ctx, cl, "n1", nil)
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, io.ErrUnexpectedEOF) || c.cordoned {
			t.Errorf("error = %v, cordoned %v; want the end of the time and the last failure, not cordoned", err, c.cordoned)
		}
	})
}

// TestDryRunReportsThePlan checks that a dry run changes nothing, and returns the first state of each pod and the
// errors of the plan and of the watch.
func TestDryRunReportsThePlan(t *testing.T) {
	for _, tt := range []struct {
		name    string
		o       drain.Options
		noWatch bool
		want    []drain.State
		wantErr string
	}{
		{
			name: "a plan", o: drain.Options{IgnoreDaemonSets: true, Force: true},
			want: []drain.State{drain.Skipped, drain.Pending, drain.Pending, drain.Evicted},
		},
		{
			name: "a refusal", want: []drain.State{drain.Refused, drain.Refused, drain.Pending, drain.Evicted},
			wantErr: "drain node n1: 2 pods remain: ",
		},
		{
			name: "a missing permission", o: drain.Options{IgnoreDaemonSets: true, Force: true}, noWatch: true,
			want:    []drain.State{drain.Skipped, drain.Pending, drain.Pending, drain.Evicted},
			wantErr: "watch the pods of node n1: ",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t,
					&podSpec{name: "a", owner: "DaemonSet/agent"}, &podSpec{name: "b"}, &podSpec{name: "c", owner: "Job/j"},
					&podSpec{name: "d", owner: "Job/j", deleting: true})
				c.daemonSets, c.noWatch, tt.o.DryRun = []string{"agent"}, tt.noWatch, true
				told, report, err := run(t, c, tt.o, time.Hour)
				if (err == nil) != (tt.wantErr == "") || !strings.HasPrefix(text(err), tt.wantErr) {
					t.Errorf("error = %v, want %s", err, tt.wantErr)
				}
				var got []drain.State
				for _, p := range report.Pods {
					got = append(got, p.State)
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("states (-want +got):\n%s", diff)
				}
				if told != nil || c.cordoned || c.queries != nil {
					t.Errorf("progress %v, cordoned %v, requests %v", told, c.cordoned, c.queries)
				}
			})
		})
	}
}

// TestNodeListsPodsAgainAfterTheCordon checks that Node also judges pods that were created before the cordon.
func TestNodeListsPodsAgainAfterTheCordon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.arriving = []*podSpec{{name: "late"}}
		_, _, err := run(t, c, drain.Options{}, time.Hour)
		const want = "drain node n1: 1 pod remains: prod/late: refused: no controller recreates it: set Force to delete it"
		if text(err) != want || !c.cordoned {
			t.Errorf("error = %v, cordoned = %v, want %s, and cordoned", err, c.cordoned, want)
		}
	})
}

// TestDrainSurvivesFailuresOfTheWatch checks that a drain notices deletions in spite of failures of the watch.
func TestDrainSurvivesFailuresOfTheWatch(t *testing.T) {
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

// TestFailuresOfTheWatchAreReported checks that the reason of an evicted pod and the error name the failure of a watch
// that could observe nothing, and that it is logged. After an event, the failure is over.
func TestFailuresOfTheWatchAreReported(t *testing.T) {
	before := slog.Default()
	defer slog.SetDefault(before)
	for _, tt := range []struct {
		name      string
		failLists int
		want      string
		wantIs    bool
	}{
		{
			"until the end", 1000, "drain node n1: time is up; last failure: list pods: internal error: server said: " +
				"the server is in a bad mood; 1 pod remains: prod/a: evicted: it was not observed to terminate; " +
				"last failure of the watch: internal error: server said: the server is in a bad mood", true,
		},
		{"at first", 7, "drain node n1: time is up; 1 pod remains: prod/a: evicted: it has not terminated yet", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log strings.Builder
				slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
				c := newCluster(t, &podSpec{name: "a", owner: "Job/j", stays: true})
				c.failLists = tt.failLists
				_, _, err := run(t, c, drain.Options{}, 4*time.Minute)
				if text(err) != tt.want || errors.Is(err, core.ErrInternal) != tt.wantIs {
					t.Errorf("error = %v\nwant %s", err, tt.want)
				}
				const want = `level=WARN msg="watch error" resource=pods node=n1 err=`
				if got := log.String(); !strings.Contains(got, want) || !strings.Contains(got, "bad mood") {
					t.Errorf("log = %s, want the failure of the watch", got)
				}
			})
		})
	}
}

// TestTimeoutOfADialIsRetried checks that a drain continues after an eviction that could not be sent. The error comes
// from a real dial, because its type is not exported.
func TestTimeoutOfADialIsRetried(t *testing.T) {
	_, timeout := (&net.Dialer{Timeout: time.Nanosecond}).DialContext(t.Context(), "tcp", "127.0.0.1:1")
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, &podSpec{name: "a", owner: "ReplicaSet/r"})
		began := time.Now()
		cl, err := client.New(t.Context(), &client.Options{
			Config: &config.Config{Server: "https://cluster.test"},
			Transport: middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
				if strings.HasSuffix(r.URL.Path, "/eviction") && time.Since(began) < 2*time.Minute {
					return nil, timeout
				}
				return c.RoundTrip(r)
			}),
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if _, err := drain.Node(ctx, cl, "n1", nil); err != nil {
			t.Error(err)
		}
		c.timers.Wait()
	})
}

// TestEvictionsAndDeletionsHaveTheOptions checks the requests that evict or delete pods.
func TestEvictionsAndDeletionsHaveTheOptions(t *testing.T) {
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
					t.Errorf("requests (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestInvalidGracePeriodIsRejected checks that Node changes nothing if an option is invalid.
func TestInvalidGracePeriodIsRejected(t *testing.T) {
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
