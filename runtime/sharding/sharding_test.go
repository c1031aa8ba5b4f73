// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package sharding_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/client/pod"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/election"
	"github.com/kube-go/sdk/runtime/internal/bubble"
	"github.com/kube-go/sdk/runtime/internal/fakeapi"
	"github.com/kube-go/sdk/runtime/sharding"
)

var (
	errStop = errors.New("stop")
	errCut  = errors.New("connection cut")

	errBroken = errors.New("broken")
)

// cluster is an API server with leases, in a bubble.
type cluster struct {
	t      *testing.T
	server *fakeapi.Server
	leases core.Resource
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	leases, err := core.ResourceOf[coordinationv1.Lease]()
	if err != nil {
		t.Fatal(err)
	}
	return &cluster{t, fakeapi.New(leases), leases}
}

// replica is a process with a member. Its requests fail while cut is set.
type replica struct {
	*sharding.Member
	cut       atomic.Bool
	fail      atomic.Bool              // the next request fails
	refuse    func(*http.Request) bool // these requests fail until permitted is set; may be nil
	permitted atomic.Bool
	stop      context.CancelCauseFunc
	result    chan error
	terms     atomic.Int32
}

// start adds a replica and launches it.
func (c *cluster) start(name string, change func(*sharding.Options)) *replica {
	c.t.Helper()
	r := c.add(name, change)
	r.launch(c.t)
	return r
}

// add returns a replica that does not run yet.
func (c *cluster) add(name string, change func(*sharding.Options)) *replica {
	c.t.Helper()
	r := &replica{result: make(chan error, 1)}
	api, err := client.New(c.t.Context(), &client.Options{
		Config: &config.Config{Server: "https://cluster.test", Namespace: "prod"},
		Retry:  &middleware.RetryOptions{MaxAttempts: 1},
		Transport: middleware.RoundTripperFunc(func(req *http.Request) (*http.Response, error) {
			if r.cut.Load() {
				<-req.Context().Done()
				return nil, errCut
			}
			if r.fail.Swap(false) || r.refuse != nil && !r.permitted.Load() && r.refuse(req) {
				return nil, errCut
			}
			return c.server.RoundTrip(req)
		}),
	})
	if err != nil {
		c.t.Fatal(err)
	}
	o := sharding.Options{Name: "shop", Identity: name, Logger: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&o)
	}
	r.Member = sharding.New(api, &o)
	return r
}

// launch runs the replica, which joins again when it has lost a term.
func (r *replica) launch(t *testing.T) {
	ctx, stop := context.WithCancelCause(t.Context())
	r.stop = stop
	go func() {
		for {
			err := r.Run(ctx, func(ctx context.Context) error {
				r.terms.Add(1)
				<-ctx.Done()
				return context.Cause(ctx)
			})
			if !errors.Is(err, election.ErrLost) {
				r.result <- err
				return
			}
		}
	}()
}

// end stops a replica.
func (c *cluster) end(r *replica) {
	c.t.Helper()
	r.stop(errStop)
	if err := <-r.result; !errors.Is(err, errStop) {
		c.t.Errorf("Run = %v, want %v", err, errStop)
	}
}

// shares checks that each of many objects has exactly one owner, and that the replicas have equal shares.
func (c *cluster) shares(replicas ...*replica) {
	c.t.Helper()
	for i := range 500 {
		uid, owners := types.UID(fmt.Sprintf("%d-4b1d-c0ffee", i)), 0
		for _, r := range replicas {
			if owns(r, uid, "") {
				owners++
				if shard := r.Status().Shard; !shard.Has(uid, "") {
					c.t.Errorf("%s is not in the shard of its owner, %s", uid, shard)
				}
			}
		}
		if owners != 1 {
			c.t.Errorf("%s has %d owners", uid, owners)
		}
	}
	for _, r := range replicas {
		s := r.Status()
		if n, want := s.Slots, 256/len(replicas); !s.Joined || n < want || n > want+1 || len(s.Members) != len(replicas) {
			c.t.Errorf("the status of a replica is %+v, want about %d slots", s, want)
		}
	}
}

// names returns the names of the leases.
func (c *cluster) names() (names []string) {
	c.t.Helper()
	for l, err := range client.Namespaced[coordinationv1.Lease](c.server.Client(), "prod").All(c.t.Context(), nil) {
		if err != nil {
			c.t.Fatal(err)
		}
		names = append(names, l.Name)
	}
	return names
}

func TestReplicasShareAndHandOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		a := c.start("a", nil)
		time.Sleep(time.Second)
		c.shares(a)
		b := c.start("b", nil)
		time.Sleep(3 * time.Second)
		c.shares(a, b)
		d, e := c.start("d", nil), c.start("e", nil)
		time.Sleep(5 * time.Second)
		c.shares(a, b, d, e)
		for _, r := range []*replica{a, b, d, e} {
			if n := strings.Count(r.Status().Shard.String(), "||"); n > 2 {
				t.Errorf("a replica has %d ranges: %s", n+1, r.Status().Shard)
			}
		}
		c.end(a)
		time.Sleep(1300 * time.Millisecond)
		c.shares(b, d, e)
		c.end(b)
		c.end(d)
		time.Sleep(1300 * time.Millisecond)
		c.shares(e)
		c.end(e)
		if names := c.names(); len(names) != 1 || names[0] != "shop-shards" {
			t.Errorf("leases after the end: %v", names)
		}
		if owns(e, "4b1d-c0ffee", "") || e.Status().Joined {
			t.Error("a replica owns something after its end")
		}
	})
}

func TestASlotIsGivenWhenItsWorkHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		a := c.start("a", nil)
		time.Sleep(time.Second)
		ends := map[types.UID]func(){}
		for i := range 100 {
			uid := types.UID(fmt.Sprintf("%d-4b1d-c0ffee", i))
			end, ok := a.Begin(uid, "")
			if !ok {
				t.Fatalf("%s has no owner", uid)
			}
			ends[uid] = end
		}
		b := c.start("b", nil)
		time.Sleep(time.Minute)
		if s := a.Status(); s.Leaving == 0 || s.Leaving+s.Slots <= 128 {
			t.Errorf("the status is %+v, want slots that are not given away yet", s)
		}
		for uid, end := range ends {
			if owns(b, uid, "") {
				t.Errorf("%s has another owner during work", uid)
			}
			if got, want := owns(a, uid, ""), a.Status().Shard.Has(uid, ""); got != want {
				t.Errorf("Begin = %v, but the shard has %s: %v", got, uid, want)
			}
			end()
		}
		time.Sleep(2 * time.Second)
		c.shares(a, b)
		c.end(a)
		c.end(b)
	})
}

func TestASecondEndDoesNotEndOtherWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		a := c.start("a", nil)
		time.Sleep(time.Second)
		ends := map[types.UID]func(){}
		for i := range 100 {
			uid := types.UID(fmt.Sprintf("%d-4b1d-c0ffee", i))
			first, _ := a.Begin(uid, "")
			other, ok := a.Begin(uid, "")
			if !ok {
				t.Fatalf("%s has no owner", uid)
			}
			first()
			first()
			ends[uid] = other
		}
		b := c.start("b", nil)
		time.Sleep(time.Minute)
		for uid, end := range ends {
			if owns(b, uid, "") {
				t.Errorf("%s has another owner during work", uid)
			}
			end()
		}
		time.Sleep(2 * time.Second)
		c.shares(a, b)
		c.end(a)
		c.end(b)
	})
}

func TestALostMemberHasNoSuccessorBeforeItsTermEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		a, b := c.start("a", nil), c.start("b", nil)
		time.Sleep(5 * time.Second)
		c.shares(a, b)
		a.cut.Store(true)
		for b.Status().Slots != 256 {
			if a.Status().Slots > 0 && b.Status().Slots > 128 {
				t.Fatal("two replicas own the same slots")
			}
			time.Sleep(100 * time.Millisecond)
		}
		if s := a.Status(); s.Joined || s.Slots > 0 {
			t.Errorf("the status of a replica without a connection is %+v", s)
		}
		a.cut.Store(false)
		time.Sleep(15 * time.Second)
		c.shares(a, b)
		if n := a.terms.Load(); n != 2 {
			t.Errorf("%d terms, want 2", n)
		}
		c.end(a)
		c.end(b)
	})
}

func TestDeletedLeasesAreMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		a, b := c.start("a", nil), c.start("b", nil)
		for range 3 {
			time.Sleep(30 * time.Second)
			c.shares(a, b)
			for _, name := range c.names() {
				if name == "shop-shards" == (a.terms.Load()%2 == 0) {
					c.server.Delete(c.leases, core.ObjectRef{Namespace: "prod", Name: name})
					break
				}
			}
		}
		time.Sleep(30 * time.Second)
		c.shares(a, b)
		if a.terms.Load()+b.terms.Load() < 4 {
			t.Error("no term has ended")
		}
		c.end(a)
		c.end(b)
	})
}

// TestATableWithoutItsLabelIsReportedAndRetried checks that members do not join and leave again and again while the
// table lacks the label by which they list it.
func TestATableWithoutItsLabelIsReportedAndRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		a := c.start("a", nil)
		time.Sleep(5 * time.Second)
		table := client.Namespaced[coordinationv1.Lease](c.server.Client(), "prod")
		setLabels := func(labels map[string]string) {
			t.Helper()
			_, err := table.Modify(t.Context(), "shop-shards", func(l *coordinationv1.Lease) error {
				l.Labels = labels
				return nil
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
		}
		setLabels(nil)
		time.Sleep(time.Minute)
		want := "the lease prod/shop-shards does not have the label sharding.kube-go.github.io/group=shop: set the label, or delete the lease"
		if err := a.Status().Err; err == nil || err.Error() != want {
			t.Errorf("Status().Err = %v, want %s", err, want)
		}
		if n, names := a.terms.Load(), c.names(); n != 1 || len(names) != 1 {
			t.Errorf("after %d terms the leases are %v, want one term and the table", n, names)
		}
		setLabels(map[string]string{"sharding.kube-go.github.io/group": "shop"})
		time.Sleep(5 * time.Second)
		c.shares(a)
		c.end(a)
	})
}

func TestFenceRefusesWritesAndExec(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		a := c.start("a", nil)
		fenced, err := client.New(t.Context(), &client.Options{
			Config: &config.Config{Server: "https://cluster.test"}, PerAttempt: []middleware.Func{a.Fence()}, Transport: c.server,
		})
		if err != nil {
			t.Fatal(err)
		}
		leases := client.Namespaced[coordinationv1.Lease](fenced, "prod")
		calls := map[string]func() error{
			"Create": func() error {
				_, err := leases.Create(t.Context(), &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "web"}}, nil)
				return err
			},
			"Exec": func() error {
				_, err := pod.In(fenced, "prod").Exec(t.Context(), "db-0", &pod.ExecOptions{Command: []string{"true"}})
				return err
			},
		}
		time.Sleep(5 * time.Second)
		for name, call := range calls {
			if err := call(); errors.Is(err, election.ErrNotLeader) {
				t.Errorf("%s of a member = %v", name, err)
			}
		}
		c.end(a)
		for name, call := range calls {
			if err := call(); !errors.Is(err, election.ErrNotLeader) {
				t.Errorf("%s after the term = %v, want %v", name, err, election.ErrNotLeader)
			}
		}
		if _, err := leases.Get(t.Context(), "web", nil); err != nil {
			t.Errorf("Get after the term = %v", err)
		}
	})
}

// TestFenceRefusesWritesOfWorkThatContinues deletes the table, and checks that the member is fenced as soon as its term
// is lost, while its work ignores the end of its context.
func TestFenceRefusesWritesOfWorkThatContinues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		a := c.add("a", nil)
		fenced, err := client.New(t.Context(), &client.Options{
			Config: &config.Config{Server: "https://cluster.test"}, PerAttempt: []middleware.Func{a.Fence()}, Transport: c.server,
		})
		if err != nil {
			t.Fatal(err)
		}
		err = a.Run(t.Context(), func(ctx context.Context) error {
			c.server.Delete(c.leases, core.ObjectRef{Namespace: "prod", Name: "shop-shards"})
			<-ctx.Done()
			for range 20 { // the lease of the member is renewed
				if s := a.Status(); s.Joined || s.Slots > 0 {
					t.Errorf("the status after the term is %+v", s)
				}
				_, err := client.Namespaced[coordinationv1.Lease](fenced, "prod").Create(t.Context(),
					&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{GenerateName: "late-"}}, nil)
				if !errors.Is(err, election.ErrNotLeader) {
					t.Errorf("a write after the term = %v, want %v", err, election.ErrNotLeader)
				}
				time.Sleep(time.Second)
			}
			return nil
		})
		if !errors.Is(err, election.ErrLost) {
			t.Errorf("Run = %v, want %v", err, election.ErrLost)
		}
	})
}

// TestAMemberThatCanNotGiveItsSlotsAwayEnds checks that Run ends although the table is invalid, and that the other
// member has everything once somebody has repaired it.
func TestAMemberThatCanNotGiveItsSlotsAwayEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		a, b := c.start("a", nil), c.start("b", nil)
		time.Sleep(5 * time.Second)
		const annotation = "sharding.kube-go.github.io/table"
		var valid string
		edit := func(change func(annotations map[string]string)) {
			t.Helper()
			_, err := client.Namespaced[coordinationv1.Lease](c.server.Client(), "prod").
				Modify(t.Context(), "shop-shards", func(l *coordinationv1.Lease) error {
					change(l.Annotations)
					return nil
				}, nil)
			if err != nil {
				t.Fatal(err)
			}
		}
		edit(func(annotations map[string]string) { valid, annotations[annotation] = annotations[annotation], "x" })
		began := time.Now()
		c.end(a)
		if took := time.Since(began); took > 12*time.Second {
			t.Errorf("the member took %v to end", took)
		}
		edit(func(annotations map[string]string) { annotations[annotation] = valid })
		repaired := time.Now()
		for b.Status().Slots != 256 && time.Since(repaired) < time.Minute {
			time.Sleep(100 * time.Millisecond)
		}
		if took := time.Since(repaired); took < 14*time.Second || took > 18*time.Second {
			t.Errorf("the other member has all slots after %v, want the duration of the lease", took)
		}
		c.shares(b)
		c.end(b)
	})
}

// TestALossAfterTheWorkIsNoError checks that Run returns the result of work that has ended before the term was lost.
func TestALossAfterTheWorkIsNoError(t *testing.T) {
	for name, tt := range map[string]struct {
		cause, err, want error
		after            time.Duration // from the last request with a response
	}{
		"nil":              {nil, nil, nil, 0},
		"an error":         {nil, errBroken, errBroken, 0},
		"after a stop":     {errStop, nil, errStop, 0},
		"during a request": {nil, nil, nil, 8500 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newCluster(t).add("a", nil)
				ctx, stop := context.WithCancelCause(t.Context())
				err := r.Run(ctx, func(context.Context) error {
					time.Sleep(5 * time.Second)
					r.cut.Store(true)
					time.Sleep(tt.after)
					if tt.cause != nil {
						stop(tt.cause)
					}
					return tt.err
				})
				if err != tt.want {
					t.Errorf("Run() = %v, want %v", err, tt.want)
				}
				stop(nil)
			})
		})
	}
}

// TestALossBeforeTheEndOfTheWorkIsAnError checks that work that returns nil when its term is lost does not hide the
// loss.
func TestALossBeforeTheEndOfTheWorkIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newCluster(t).add("a", nil)
		err := r.Run(t.Context(), func(ctx context.Context) error {
			r.cut.Store(true)
			<-ctx.Done()
			return nil
		})
		if !errors.Is(err, election.ErrLost) {
			t.Errorf("Run() = %v, want %v", err, election.ErrLost)
		}
	})
}

func TestWorkThatEndsItsGoroutineIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		err := newCluster(t).add("a", nil).Run(t.Context(), func(context.Context) error {
			runtime.Goexit()
			return nil
		})
		if err == nil || !strings.Contains(err.Error(), "runtime.Goexit was called") {
			t.Errorf("Run() = %v", err)
		}
	})
}

func TestFollowersSeeAllChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		a := c.add("a", nil)
		var last atomic.Pointer[core.Shard]
		var calls atomic.Int32
		stop := a.Follow(func(s *core.Shard) {
			last.Store(s)
			calls.Add(1)
		})
		if s := last.Load().String(); s != "" {
			t.Errorf("the first shard is %s", s)
		}
		a.launch(t)
		time.Sleep(5 * time.Second)
		b := c.start("b", nil)
		time.Sleep(5 * time.Second)
		if got, want := last.Load().String(), a.Status().Shard.String(); got != want || got == "" || calls.Load() != 3 {
			t.Errorf("after %d calls the shard is %s, want %s", calls.Load(), got, want)
		}
		stop()
		c.end(b)
		time.Sleep(5 * time.Second)
		if calls.Load() != 3 {
			t.Error("a follower was called after its end")
		}
		c.end(a)
	})
}

func TestNamespacesHaveOneOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		by := func(o *sharding.Options) { o.ByNamespace = true }
		a, b := c.start("a", by), c.start("b", by)
		time.Sleep(5 * time.Second)
		for _, ns := range []string{"", "prod", "test", "team-blue"} {
			owner := owns(a, "x", ns)
			for i := range 20 {
				uid := types.UID(fmt.Sprint(i))
				if owns(a, uid, ns) != owner || owns(b, uid, ns) == owner || a.Status().Shard.Has(uid, ns) != owner {
					t.Errorf("the namespace %q has several owners, or none", ns)
				}
			}
		}
		c.end(a)
		c.end(b)
	})
}

// TestMembersThatDivideDifferentlyDoNotMix checks that replicas that differ from the members of the group own nothing
// and report why, and that they begin when the members have left.
func TestMembersThatDivideDifferentlyDoNotMix(t *testing.T) {
	for _, old := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			c := newCluster(t)
			a := c.start("old", func(o *sharding.Options) { o.ByNamespace = old })
			time.Sleep(5 * time.Second)
			b := c.start("new", func(o *sharding.Options) { o.ByNamespace = !old })
			time.Sleep(time.Minute)
			if x, y := a.Status().Slots, b.Status().Slots; x != 256 || y != 0 {
				t.Errorf("they own %d and %d slots, want all and none", x, y)
			}
			const want = "end the other replicas first"
			if err := b.Status().Err; err == nil || !strings.Contains(err.Error(), want) || a.Status().Err != nil {
				t.Errorf("the errors are %v and %v, want nil and one with %q", a.Status().Err, err, want)
			}
			c.end(a)
			time.Sleep(5 * time.Second)
			if n := b.Status().Slots; n != 256 {
				t.Errorf("it owns %d slots after the others have left", n)
			}
			c.end(b)
		})
	}
}

// TestATableOfAnOlderVersionFitsAll checks that replicas join a table that does not say what divides the objects.
func TestATableOfAnOlderVersionFitsAll(t *testing.T) {
	for _, byNamespace := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			c := newCluster(t)
			by := func(o *sharding.Options) { o.ByNamespace = byNamespace }
			a := c.start("a", by)
			time.Sleep(5 * time.Second)
			table := client.Namespaced[coordinationv1.Lease](c.server.Client(), "prod")
			_, err := table.Modify(t.Context(), "shop-shards", func(l *coordinationv1.Lease) error {
				const key = "sharding.kube-go.github.io/table"
				text := l.Annotations[key]
				l.Annotations[key] = regexp.MustCompile(`"by":"[a-z]+",`).ReplaceAllString(text, "")
				if l.Annotations[key] == text {
					t.Errorf("the table is %s", text)
				}
				return nil
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			b := c.start("b", by)
			time.Sleep(5 * time.Second)
			if x, y := a.Status().Slots, b.Status().Slots; x != 128 || y != 128 {
				t.Errorf("they own %d and %d slots", x, y)
			}
			c.end(a)
			c.end(b)
		})
	}
}

// asking is a log handler that asks a member for its status.
type asking struct {
	slog.Handler
	t       *testing.T
	member  **replica
	records *atomic.Int32
}

func (asking) Enabled(context.Context, slog.Level) bool { return true }

func (h asking) WithAttrs([]slog.Attr) slog.Handler { return h }

func (h asking) Handle(context.Context, slog.Record) error {
	h.records.Add(1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		(*h.member).Status()
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		h.t.Error("Status blocks in a log handler")
	}
	return nil
}

func TestALogHandlerMayCallStatus(t *testing.T) {
	c := newCluster(t)
	var r *replica
	var records atomic.Int32
	r = c.add("a", func(o *sharding.Options) {
		o.LeaseDuration, o.RenewDeadline, o.RetryPeriod = 20*time.Minute, 15*time.Minute, 10*time.Millisecond
		o.Logger = slog.New(asking{slog.DiscardHandler, t, &r, &records})
	})
	r.fail.Store(true)
	worked := false
	err := r.Run(t.Context(), func(context.Context) error {
		worked = true
		return nil
	})
	if err != nil || !worked || records.Load() == 0 {
		t.Errorf("Run() = %v, has worked: %v, %d log records", err, worked, records.Load())
	}
}

// buffer is a log that several goroutines may write.
type buffer struct {
	mu  sync.Mutex // guards buf
	buf bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func (b *buffer) options(o *sharding.Options) { o.Logger = slog.New(slog.NewTextHandler(b, nil)) }

// TestTheLossOfAMembershipIsLoggedAtOnceWithItsReason checks that the log and the error name the lease, and that the log
// has the loss while the work ignores the end of its context.
func TestTheLossOfAMembershipIsLoggedAtOnceWithItsReason(t *testing.T) {
	ref := func(name string) core.ObjectRef { return core.ObjectRef{Namespace: "prod", Name: name} }
	const ofTable = "shards prod/shop: the lease is lost: somebody has "
	for reason, lose := range map[string]func(c *cluster, r *replica, own string){
		ofTable + "deleted the lease shop-shards": func(c *cluster, _ *replica, _ string) {
			c.server.Delete(c.leases, ref("shop-shards"))
		},
		ofTable + "replaced the lease shop-shards": func(c *cluster, _ *replica, _ string) {
			c.server.Delete(c.leases, ref("shop-shards"))
			c.server.Put(c.leases, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
				Namespace: "prod", Name: "shop-shards", UID: "another",
				Labels:      map[string]string{"sharding.kube-go.github.io/group": "shop"},
				Annotations: map[string]string{"sharding.kube-go.github.io/table": `{"slots":256,"generation":9,"members":[]}`},
			}})
		},
		"it was not renewed within Options.RenewDeadline, which is 10s": func(_ *cluster, r *replica, _ string) {
			r.cut.Store(true)
		},
		"is lost: ": func(c *cluster, _ *replica, own string) { c.server.Delete(c.leases, ref(own)) },
	} {
		synctest.Test(t, func(t *testing.T) {
			c := newCluster(t)
			var logs buffer
			a := c.add("a", logs.options)
			leave := make(chan struct{})
			result := make(chan error, 1)
			go func() {
				result <- a.Run(t.Context(), func(context.Context) error {
					<-leave
					return nil
				})
			}()
			time.Sleep(5 * time.Second)
			own := slices.DeleteFunc(c.names(), func(name string) bool { return name == "shop-shards" })
			lose(c, a, own[0])
			time.Sleep(15 * time.Second)
			if text := logs.String(); !strings.Contains(text, "is lost: the work ends") || !strings.Contains(text, reason) {
				t.Errorf("the log has no loss with the reason %q:\n%s", reason, text)
			}
			close(leave)
			err := <-result
			if !errors.Is(err, election.ErrLost) || !strings.Contains(err.Error(), reason) ||
				!strings.Contains(err.Error(), "shop-shards") && !strings.Contains(err.Error(), own[0]) {
				t.Errorf("Run = %v, want the reason %q and the lease", err, reason)
			}
		})
	}
}

// TestALogThatBlocksDoesNotDelayTheEndOfTheWork has a log that blocks at the loss of a membership, such as a full pipe.
func TestALogThatBlocksDoesNotDelayTheEndOfTheWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, ended := newCluster(t), make(chan struct{})
		a := c.add("a", func(o *sharding.Options) {
			o.Logger = bubble.BlockingLog("the membership is lost: the work ends", ended)
		})
		var took time.Duration
		err := a.Run(t.Context(), func(ctx context.Context) error {
			defer close(ended)
			<-time.After(5 * time.Second)
			c.server.Delete(c.leases, core.ObjectRef{Namespace: "prod", Name: "shop-shards"})
			deleted := time.Now()
			<-ctx.Done()
			took = time.Since(deleted)
			return context.Cause(ctx)
		})
		if !errors.Is(err, election.ErrLost) || took > 10*time.Second {
			t.Errorf("Run = %v, and the work ended after %v, want at most RenewDeadline", err, took)
		}
	})
}

// TestAFailingRequestIsLoggedOnce forbids one kind of request, while the others succeed.
func TestAFailingRequestIsLoggedOnce(t *testing.T) {
	for _, method := range []string{http.MethodPut, http.MethodDelete} {
		t.Run(method, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t)
				other := c.start("other", nil)
				time.Sleep(5 * time.Second)
				var logs buffer
				a := c.add("a", logs.options)
				a.refuse = func(r *http.Request) bool {
					table := strings.HasSuffix(r.URL.Path, "/shop-shards")
					return r.Method == method && table == (method == http.MethodPut)
				}
				a.launch(t)
				time.Sleep(5 * time.Second)
				other.cut.Store(true)
				other.stop(errStop)
				time.Sleep(30 * time.Second)
				for range 300 {
					time.Sleep(100 * time.Millisecond)
					if status := a.Status(); status.Err == nil || !status.Reached {
						t.Fatalf("Status = %+v, want the error", status)
					}
				}
				for text, want := range map[string]int{"a request for the shards has failed": 1, "its slots are free": 0} {
					if n := strings.Count(logs.String(), text); n != want {
						t.Errorf("%q is logged %d times, want %d:\n%s", text, n, want, logs.String())
					}
				}
				a.permitted.Store(true)
				time.Sleep(20 * time.Second)
				if status := a.Status(); status.Err != nil || status.Slots != 256 {
					t.Errorf("Status = %+v after the permission, want all slots", status)
				}
				a.stop(errStop)
				if err := <-a.result; !errors.Is(err, errStop) {
					t.Errorf("Run = %v, want %v", err, errStop)
				}
				if err := <-other.result; err == nil {
					t.Error("Run of the replica without a connection = nil")
				}
			})
		})
	}
}

func TestInvalidOptions(t *testing.T) {
	for _, tt := range []struct {
		in   sharding.Options
		want string
	}{
		{sharding.Options{}, "Options.Name is empty"},
		{sharding.Options{Name: "Shop"}, `Options.Name is "Shop"`},
		{sharding.Options{Name: "shop", Namespace: "prod", RetryPeriod: -1}, "Options.RetryPeriod is -1ns"},
		{sharding.Options{Name: "shop", Namespace: "prod", RenewDeadline: time.Millisecond}, "Options.RenewDeadline is 1ms"},
		{sharding.Options{Name: "shop", Namespace: "prod", LeaseDuration: 5 * time.Second}, "Options.LeaseDuration is 5s"},
		{sharding.Options{Name: "shop", Namespace: "prod", RetryPeriod: time.Minute}, "Options.RenewDeadline is 10s"},
		{sharding.Options{Name: "shop"}, "Options.Namespace is empty"},
		{sharding.Options{Name: "shop", Namespace: "Prod/x"}, `Options.Namespace is "Prod/x"`},
		{sharding.Options{Name: "shop", Namespace: "prod", Identity: "node\xff"}, `Options.Identity is "node\xff"`},
	} {
		c, err := client.New(t.Context(), &client.Options{
			Config: &config.Config{Server: "https://cluster.test"},
			Transport: middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
				t.Errorf("%+v: the request %s %s", tt.in, r.Method, r.URL)
				return nil, errCut
			}),
		})
		if err != nil {
			t.Fatal(err)
		}
		tt.in.Logger = slog.New(slog.DiscardHandler)
		err = sharding.New(c, &tt.in).Run(t.Context(), nil)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Run = %v, want an error with %q", err, tt.want)
		}
	}
}

func TestANilClientIsAnError(t *testing.T) {
	err := sharding.New(nil, &sharding.Options{Name: "shop"}).Run(t.Context(), func(context.Context) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "the client is nil") {
		t.Errorf("Run() = %v", err)
	}
}

// owns reports whether a member owns an object.
func owns(m interface {
	Begin(uid types.UID, namespace string) (func(), bool)
}, uid types.UID, namespace string,
) bool {
	end, ok := m.Begin(uid, namespace)
	if ok {
		end()
	}
	return ok
}

// TestTheEndOfTheContextEndsTheStart checks that Run returns at the end of its context also while it looks for the
// table, and that it sends nothing if the context has ended before.
func TestTheEndOfTheContextEndsTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		hung := c.add("a", nil)
		hung.cut.Store(true)
		hung.launch(t)
		time.Sleep(time.Second)
		stopped := time.Now()
		c.end(hung)
		if took := time.Since(stopped); took > time.Second {
			t.Errorf("Run has returned %v after the end of its context", took)
		}
		ctx, stop := context.WithCancelCause(t.Context())
		stop(errStop)
		err := c.add("b", nil).Run(ctx, func(context.Context) error { return errors.New("the work has begun") })
		if !errors.Is(err, errStop) {
			t.Errorf("Run = %v, want %v", err, errStop)
		}
		all, err := client.Namespaced[coordinationv1.Lease](c.server.Client(), "prod").List(t.Context(), nil)
		if err != nil || len(all.Items) > 0 {
			t.Errorf("there are %d leases, %v, want none", len(all.Items), err)
		}
	})
}
