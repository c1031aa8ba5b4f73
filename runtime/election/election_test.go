// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package election_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/client/pod"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/election"
	"github.com/kube-go/sdk/runtime/internal/bubble"
	"github.com/kube-go/sdk/runtime/internal/fakeapi"
	"github.com/kube-go/sdk/runtime/internal/terms"
)

var (
	errStop = errors.New("stop")
	errCut  = errors.New("connection cut")
)

// cluster is an API server with leases, in a bubble.
type cluster struct {
	t      *testing.T
	server *fakeapi.Server
	logs   bytes.Buffer // written by one replica at a time
}

func newCluster(t *testing.T) *cluster {
	leases, err := core.ResourceOf[coordinationv1.Lease]()
	if err != nil {
		t.Fatal(err)
	}
	secrets, err := core.ResourceOf[corev1.Secret]()
	if err != nil {
		t.Fatal(err)
	}
	return &cluster{t: t, server: fakeapi.New(leases, secrets)}
}

// replica is a process with an elector. Its requests fail while cut is set.
type replica struct {
	*election.Elector
	client *client.Client
	cut    atomic.Bool
	late   atomic.Bool // the response to the next write is lost
	hang   atomic.Bool // the next write does not reach the server and gets no response
	broken atomic.Bool // writes fail
}

// client returns a client whose requests pass through r.
func (c *cluster) newClient(r *replica, more ...middleware.Func) *client.Client {
	c.t.Helper()
	api, err := client.New(c.t.Context(), &client.Options{
		Config:     &config.Config{Server: "https://cluster.test", Namespace: "prod"},
		Retry:      &middleware.RetryOptions{MaxAttempts: 1},
		PerAttempt: more,
		Transport: middleware.RoundTripperFunc(func(req *http.Request) (*http.Response, error) {
			if r.cut.Load() || req.Method != http.MethodGet && r.hang.Swap(false) {
				<-req.Context().Done()
				return nil, errCut
			}
			if req.Method != http.MethodGet && r.broken.Load() {
				return nil, errCut
			}
			resp, err := c.server.RoundTrip(req)
			if req.Method != http.MethodGet && err == nil && resp.StatusCode < 300 && r.late.Swap(false) {
				return nil, errCut
			}
			return resp, err
		}),
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return api
}

func (c *cluster) replica(o election.Options) *replica {
	r := &replica{}
	r.client = c.newClient(r)
	if o.Name == "" {
		o.Name = "shop"
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	r.Elector = election.New(r.client, &o)
	return r
}

// start runs the elector in a goroutine. It returns the result of Run.
func (r *replica) start(ctx context.Context, lead func(context.Context) error) <-chan error {
	result := make(chan error, 1)
	go func() { result <- r.Run(ctx, lead) }()
	return result
}

// untilEnd is the work of a leader that ends with its context.
func untilEnd(ctx context.Context) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

func (c *cluster) lease() *coordinationv1.Lease {
	c.t.Helper()
	lease, err := client.Namespaced[coordinationv1.Lease](c.server.Client(), "prod").Get(c.t.Context(), "shop", nil)
	if err != nil {
		c.t.Fatal(err)
	}
	return lease
}

func TestReplicasLeadOneAfterTheOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		var leading, terms atomic.Int32
		begun := make(chan time.Time, 10)
		stops, results := map[string]context.CancelCauseFunc{}, map[string]<-chan error{}
		replicas := map[string]*replica{}
		for _, name := range []string{"a", "b", "c"} {
			ctx, stop := context.WithCancelCause(t.Context())
			r := c.replica(election.Options{Identity: name})
			replicas[name], stops[name] = r, stop
			results[name] = r.start(ctx, func(ctx context.Context) error {
				if leading.Add(1) != 1 {
					t.Error("two replicas lead")
				}
				defer leading.Add(-1)
				terms.Add(1)
				begun <- time.Now()
				<-ctx.Done()
				time.Sleep(30 * time.Second) // longer than the lease: it must be renewed meanwhile
				return context.Cause(ctx)
			})
		}
		<-begun
		for i := range 3 {
			time.Sleep(time.Minute)
			holder := *c.lease().Spec.HolderIdentity
			if s := replicas[holder].Status(); !s.Leading || s.Leader != holder || s.Transitions != i || s.Err != nil {
				t.Errorf("the status of %s is %+v", holder, s)
			}
			stops[holder](errStop)
			if err := <-results[holder]; !errors.Is(err, errStop) {
				t.Errorf("Run = %v, want %v", err, errStop)
			}
			released := time.Now()
			if i < 2 {
				if took := (<-begun).Sub(released); took > 1200*time.Millisecond {
					t.Errorf("the next term began %v after the release", took)
				}
			}
			delete(replicas, holder)
		}
		if s := c.lease().Spec; *s.HolderIdentity != "" || *s.LeaseDurationSeconds != 1 || *s.LeaseTransitions != 2 {
			t.Errorf("the lease at the end is %v", s)
		}
	})
}

func TestTermEndsBeforeAnotherBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		first, second := c.replica(election.Options{Identity: "a"}), c.replica(election.Options{Identity: "b"})
		ended := make(chan time.Time, 1)
		result := first.start(t.Context(), func(ctx context.Context) error {
			<-ctx.Done()
			ended <- time.Now()
			if err := context.Cause(ctx); !errors.Is(err, election.ErrLost) {
				t.Errorf("the cause of the end is %v", err)
			}
			return context.Cause(ctx)
		})
		time.Sleep(5 * time.Second)
		ctx, stop := context.WithCancelCause(t.Context())
		begun := make(chan time.Time, 1)
		other := second.start(ctx, func(ctx context.Context) error {
			begun <- time.Now()
			return untilEnd(ctx)
		})
		time.Sleep(time.Minute)
		first.cut.Store(true)
		err := <-result
		if !errors.Is(err, election.ErrLost) || !strings.Contains(err.Error(), "lease prod/shop") {
			t.Errorf("Run = %v, want an error that names the lease", err)
		}
		if between := (<-begun).Sub(<-ended); between < 3*time.Second {
			t.Errorf("the next term began %v after the end of the last one", between)
		}
		first.cut.Store(false) // the replica runs again, and waits
		again, stopAgain := context.WithCancelCause(t.Context())
		waiting := first.start(again, untilEnd)
		time.Sleep(time.Minute)
		if first.Status().Leading || !second.Status().Leading {
			t.Error("the replica that has lost the lease leads again")
		}
		stopAgain(errStop)
		if err := <-waiting; !errors.Is(err, errStop) {
			t.Errorf("Run of a replica that waits = %v, want %v", err, errStop)
		}
		stop(errStop)
		if err := <-other; !errors.Is(err, errStop) {
			t.Errorf("Run of the second replica = %v, want %v", err, errStop)
		}
	})
}

func TestReplicasWithTheSameIdentityNeverLeadTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		ctx, stop := context.WithCancelCause(t.Context())
		first, second := c.replica(election.Options{Identity: "a"}), c.replica(election.Options{Identity: "a"})
		results := []<-chan error{first.start(ctx, untilEnd), second.start(ctx, untilEnd)}
		for range 100 {
			time.Sleep(time.Second)
			synctest.Wait()
			if first.Status().Leading == second.Status().Leading {
				t.Fatalf("leading: %v and %v, want one of them", first.Status().Leading, second.Status().Leading)
			}
		}
		stop(errStop)
		for _, result := range results {
			if err := <-result; !errors.Is(err, errStop) {
				t.Error(err)
			}
		}
	})
}

// TestALossAfterTheWorkIsNoError has work that ends shortly before its term, during a request that has no response.
func TestALossAfterTheWorkIsNoError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newCluster(t).replica(election.Options{})
		err := r.Run(t.Context(), func(context.Context) error {
			time.Sleep(5 * time.Second)
			r.cut.Store(true)
			time.Sleep(8500 * time.Millisecond) // the last renewal was sent 9.5 s ago
			return nil
		})
		if err != nil {
			t.Errorf("Run = %v", err)
		}
	})
}

func TestWorkThatEndsItsGoroutineIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		err := c.replica(election.Options{}).Run(t.Context(), func(context.Context) error {
			runtime.Goexit()
			return nil
		})
		if err == nil || !strings.Contains(err.Error(), "runtime.Goexit was called") {
			t.Errorf("Run = %v", err)
		}
		if holder := c.lease().Spec.HolderIdentity; holder != nil && *holder != "" {
			t.Errorf("%q holds the lease", *holder)
		}
	})
}

func TestLostResponsesDoNotDelayTheTerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		r := c.replica(election.Options{})
		r.late.Store(true)
		start := time.Now()
		err := r.Run(t.Context(), func(ctx context.Context) error {
			if took := time.Since(start); took > 3*time.Second {
				t.Errorf("the term began after %v", took)
			}
			for range 50 {
				r.late.Store(true)
				time.Sleep(4 * time.Second)
			}
			return ctx.Err()
		})
		if err != nil {
			t.Errorf("Run = %v", err)
		}
		if holder := *c.lease().Spec.HolderIdentity; holder != "" {
			t.Errorf("the lease is held by %q at the end", holder)
		}
	})
}

func TestOneHungRenewalDoesNotEndTheTerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newCluster(t).replica(election.Options{})
		ctx, stop := context.WithCancelCause(t.Context())
		result := r.start(ctx, untilEnd)
		for range 3 {
			time.Sleep(20 * time.Second)
			r.hang.Store(true)
		}
		time.Sleep(20 * time.Second)
		stop(errStop)
		if err := <-result; !errors.Is(err, errStop) {
			t.Errorf("Run = %v, want %v", err, errStop)
		}
		if r.hang.Load() {
			t.Error("no write hung")
		}
	})
}

// TestARateLimitDoesNotDelayRenewals checks that a term lasts while the work uses up the rate limit of its client.
func TestARateLimitDoesNotDelayRenewals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		api, err := client.New(t.Context(), &client.Options{
			Config:    &config.Config{Server: "https://cluster.test", Namespace: "prod"},
			RateLimit: &middleware.RateLimitOptions{PerSecond: 20},
			Transport: c.server,
		})
		if err != nil {
			t.Fatal(err)
		}
		e := election.New(api, &election.Options{Name: "shop", Logger: slog.New(slog.DiscardHandler)})
		secrets := client.Namespaced[corev1.Secret](api, "prod")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err = e.Run(ctx, func(ctx context.Context) error {
			for range 300 {
				go func() {
					for err := error(nil); err == nil; { // until the limit exceeds what is left of the minute
						_, err = secrets.GetOrNil(ctx, "x", nil)
					}
				}()
			}
			return untilEnd(ctx)
		})
		if errors.Is(err, election.ErrLost) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Run = %v, want %v", err, context.DeadlineExceeded)
		}
	})
}

// TestAResponseOfAProxyDoesNotEndTheTerm checks that a short fault of a proxy does not end the term, and is logged,
// even if its response is "not found".
func TestAResponseOfAProxyDoesNotEndTheTerm(t *testing.T) {
	for _, code := range []int{http.StatusBadGateway, http.StatusNotFound} {
		synctest.Test(t, func(t *testing.T) {
			c, wrong := newCluster(t), atomic.Bool{}
			api, err := client.New(t.Context(), &client.Options{
				Config: &config.Config{Server: "https://cluster.test", Namespace: "prod"},
				Transport: middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
					if !wrong.Load() {
						return c.server.RoundTrip(r)
					}
					return &http.Response{
						StatusCode: code, Header: http.Header{"Content-Type": {"text/plain"}}, Request: r,
						Body: io.NopCloser(strings.NewReader("404 page not found\n")),
					}, nil
				}),
			})
			if err != nil {
				t.Fatal(err)
			}
			e := election.New(api, &election.Options{Name: "shop", Logger: slog.New(slog.NewTextHandler(&c.logs, nil))})
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			err = e.Run(ctx, func(ctx context.Context) error {
				time.Sleep(1500 * time.Millisecond)
				wrong.Store(true)
				time.Sleep(3 * time.Second)
				wrong.Store(false)
				return untilEnd(ctx)
			})
			if errors.Is(err, election.ErrLost) || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("status %d for 3 s: Run = %v, want %v", code, err, context.DeadlineExceeded)
			}
			if !strings.Contains(c.logs.String(), "a request for the lease has failed") {
				t.Errorf("status %d is not logged:\n%s", code, c.logs.String())
			}
		})
	}
}

// TestALostTermHasAReason checks that the error of a term that somebody else has ended says how, and that a deleted
// lease has no leader.
func TestALostTermHasAReason(t *testing.T) {
	edited := func(edit func(*coordinationv1.Lease)) func(*testing.T, *client.API[coordinationv1.Lease]) {
		return func(t *testing.T, leases *client.API[coordinationv1.Lease]) {
			t.Helper()
			_, err := leases.Modify(t.Context(), "shop", func(l *coordinationv1.Lease) error {
				edit(l)
				return nil
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for reason, change := range map[string]func(*testing.T, *client.API[coordinationv1.Lease]){
		"the lease was deleted": func(t *testing.T, leases *client.API[coordinationv1.Lease]) {
			t.Helper()
			if err := leases.Delete(t.Context(), "shop", nil); err != nil {
				t.Fatal(err)
			}
		},
		`the lease is held by "b"`: edited(func(l *coordinationv1.Lease) { l.Spec.HolderIdentity = new("b") }),
		"somebody has removed the holder of the lease": edited(func(l *coordinationv1.Lease) {
			l.Spec.HolderIdentity = nil
		}),
		"somebody has edited the lease, or another replica has the same identity": edited(func(l *coordinationv1.Lease) {
			l.Spec.AcquireTime = nil
		}),
	} {
		synctest.Test(t, func(t *testing.T) {
			c := newCluster(t)
			r := c.replica(election.Options{Identity: "a", Logger: slog.New(slog.NewTextHandler(&c.logs, nil))})
			result := r.start(t.Context(), untilEnd)
			time.Sleep(5 * time.Second)
			change(t, client.Namespaced[coordinationv1.Lease](c.server.Client(), "prod"))
			want := "lease prod/shop: the lease is lost: " + reason
			if err := <-result; !errors.Is(err, election.ErrLost) || err.Error() != want {
				t.Errorf("Run = %v, want %s", err, want)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			_ = r.Run(ctx, untilEnd)
			switch leader := r.Status().Leader; leader {
			case "", "a", "b":
			default:
				t.Errorf("%s: the leader is %q", reason, leader)
			}
			if strings.Contains(c.logs.String(), "nobody") {
				t.Errorf("%s: the log has a leader that does not exist:\n%s", reason, c.logs.String())
			}
		})
	}
}

func TestACandidateThatStopsLeavesTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		ctx, stop := context.WithCancelCause(t.Context())
		r := c.replica(election.Options{})
		r.late.Store(true) // it does not know that it has the lease
		result := r.start(ctx, func(context.Context) error {
			t.Error("lead was called")
			return nil
		})
		synctest.Wait()
		stop(errStop)
		if err := <-result; !errors.Is(err, errStop) {
			t.Errorf("Run = %v, want %v", err, errStop)
		}
		if holder := *c.lease().Spec.HolderIdentity; holder != "" {
			t.Errorf("the lease is held by %q", holder)
		}
	})
}

func TestRunReturnsTheErrorOfTheWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		broken := errors.New("broken")
		r := c.replica(election.Options{})
		for range 2 { // Run may be called again
			if err := r.Run(t.Context(), func(context.Context) error { return broken }); !errors.Is(err, broken) {
				t.Errorf("Run = %v, want %v", err, broken)
			}
		}
		err := r.Run(t.Context(), func(ctx context.Context) error {
			if err := r.Run(ctx, untilEnd); err == nil || !strings.Contains(err.Error(), "while it was running") {
				t.Errorf("a second Run = %v", err)
			}
			return nil
		})
		if err != nil {
			t.Errorf("Run = %v", err)
		}
	})
}

// TestADeletedLeaseIsFreeAfterItsDuration checks that the leader stops when somebody has deleted the lease, and that
// another replica, also a new one, begins only when the leader must have noticed. The transitions still grow.
func TestADeletedLeaseIsFreeAfterItsDuration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		first, second := c.replica(election.Options{Identity: "a"}), c.replica(election.Options{Identity: "b"})
		result := first.start(t.Context(), untilEnd)
		time.Sleep(time.Second)
		ctx, stop := context.WithCancelCause(t.Context())
		begun := make(chan time.Time, 1)
		other := second.start(ctx, func(ctx context.Context) error {
			begun <- time.Now()
			return untilEnd(ctx)
		})
		time.Sleep(10 * time.Second)
		leases, _ := core.ResourceOf[coordinationv1.Lease]()
		c.server.Delete(leases, core.ObjectRef{Namespace: "prod", Name: "shop"})
		deleted := time.Now()
		first.cut.Store(true) // the leader notices only that it can't renew the lease
		time.Sleep(1300 * time.Millisecond)
		third := c.replica(election.Options{Identity: "c"})
		latest := third.start(ctx, func(ctx context.Context) error {
			begun <- time.Now()
			return untilEnd(ctx)
		})
		if err := <-result; !errors.Is(err, election.ErrLost) {
			t.Errorf("Run = %v, want %v", err, election.ErrLost)
		}
		if took := (<-begun).Sub(deleted); took < 15*time.Second || took > 18*time.Second {
			t.Errorf("the next term began %v after the deletion, want the duration of the lease", took)
		}
		if n := *c.lease().Spec.LeaseTransitions; n != 1 {
			t.Errorf("%d transitions, want 1", n)
		}
		stop(errStop)
		for _, result := range []<-chan error{other, latest} {
			if err := <-result; !errors.Is(err, errStop) {
				t.Errorf("Run = %v, want %v", err, errStop)
			}
		}
	})
}

// TestAnEditedLeaseIsNotFree checks that no other replica begins before the term of the leader has ended if somebody
// removes the duration or the holder from the lease. Servers do not require them.
func TestAnEditedLeaseIsNotFree(t *testing.T) {
	for name, edit := range map[string]func(*coordinationv1.LeaseSpec){
		"no duration": func(l *coordinationv1.LeaseSpec) { l.LeaseDurationSeconds = nil },
		"no holder":   func(l *coordinationv1.LeaseSpec) { l.HolderIdentity = nil },
		"an empty holder and a second": func(l *coordinationv1.LeaseSpec) {
			l.HolderIdentity, l.LeaseDurationSeconds = new(""), new(int32(1))
		},
	} {
		t.Run(name, func(t *testing.T) { testEditedLease(t, edit) })
	}
}

func testEditedLease(t *testing.T, edit func(*coordinationv1.LeaseSpec)) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		first, second := c.replica(election.Options{Identity: "a"}), c.replica(election.Options{Identity: "b"})
		result := first.start(t.Context(), untilEnd)
		time.Sleep(time.Second)
		ctx, stop := context.WithCancelCause(t.Context())
		begun := make(chan time.Time, 1)
		other := second.start(ctx, func(ctx context.Context) error {
			begun <- time.Now()
			return untilEnd(ctx)
		})
		time.Sleep(10 * time.Second)
		first.cut.Store(true) // the leader notices only that it can't renew the lease
		lease := c.lease()
		edit(&lease.Spec)
		leases, _ := core.ResourceOf[coordinationv1.Lease]()
		c.server.Put(leases, lease)
		if err := <-result; !errors.Is(err, election.ErrLost) {
			t.Errorf("Run = %v, want %v", err, election.ErrLost)
		}
		if ended := time.Now(); (<-begun).Before(ended) {
			t.Error("another term began before the first one had ended")
		}
		stop(errStop)
		if err := <-other; !errors.Is(err, errStop) {
			t.Errorf("Run = %v, want %v", err, errStop)
		}
	})
}

// TestATermThatIsLostDuringTheStopIsAnError checks that Run reports a loss after the end of its context, and that the
// term of the context of the work ends.
func TestATermThatIsLostDuringTheStopIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		r := c.replica(election.Options{})
		ctx, stop := context.WithCancelCause(t.Context())
		var took time.Duration
		result := r.start(ctx, func(ctx context.Context) error {
			<-ctx.Done()
			r.cut.Store(true)
			cut := time.Now()
			<-terms.Of(ctx).Done()
			took = time.Since(cut)
			return context.Cause(ctx)
		})
		time.Sleep(5 * time.Second)
		stop(errStop)
		if err := <-result; !errors.Is(err, election.ErrLost) || !errors.Is(err, errStop) {
			t.Errorf("Run = %v, want the loss and the cause of the stop", err)
		}
		if took > 10*time.Second {
			t.Errorf("the term ended %v after the last renewal", took)
		}
	})
}

// TestTheLeaseOfUnfinishedWorkExpires checks that Run ends when lead has left work behind, and does not release the
// lease.
func TestTheLeaseOfUnfinishedWorkExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		first, second := c.replica(election.Options{Identity: "a"}), c.replica(election.Options{Identity: "b"})
		late := errors.New("a run has not returned")
		err := first.Run(t.Context(), func(ctx context.Context) error {
			ended := make(chan struct{})
			close(ended)
			terms.Leave(ctx, terms.Remainder{Err: late, Done: ended})
			terms.Leave(ctx, terms.Remainder{Err: late, Done: make(chan struct{})})
			return errStop // without the error of the runs
		})
		if !errors.Is(err, errStop) {
			t.Errorf("Run = %v, want %v", err, errStop)
		}
		if first.Status().Leading {
			t.Error("the replica leads after Run")
		}
		left := time.Now()
		err = second.Run(t.Context(), func(context.Context) error {
			if took := time.Since(left); took < 15*time.Second || took > 16*time.Second {
				t.Errorf("the next term began after %v, want the duration of the lease", took)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

func TestOtherFieldsOfTheLeaseAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		leases, _ := core.ResourceOf[coordinationv1.Lease]()
		c.server.Put(leases, &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "shop", Labels: map[string]string{"team": "a"}},
		})
		r := c.replica(election.Options{})
		if err := r.Run(t.Context(), func(context.Context) error { return nil }); err != nil {
			t.Fatal(err)
		}
		if l := c.lease(); l.Labels["team"] != "a" {
			t.Errorf("the labels of the lease are %v", l.Labels)
		}
	})
}

func TestFenceRefusesWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		r := c.replica(election.Options{})
		secrets := client.Namespaced[corev1.Secret](c.newClient(r, r.Fence()), "prod")
		write := func(ctx context.Context, name string) error {
			_, err := secrets.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}}, nil)
			return err
		}
		if err := write(t.Context(), "early"); !errors.Is(err, election.ErrNotLeader) {
			t.Errorf("a write before the term: %v", err)
		}
		err := r.Run(t.Context(), func(ctx context.Context) error {
			if err := write(ctx, "first"); err != nil {
				t.Errorf("a write of the leader: %v", err)
			}
			r.cut.Store(true)
			<-ctx.Done()
			r.cut.Store(false)
			return write(context.WithoutCancel(ctx), "late")
		})
		if !errors.Is(err, election.ErrLost) || !errors.Is(err, election.ErrNotLeader) {
			t.Errorf("Run = %v, want the errors of the term and of the write", err)
		}
		if _, err := secrets.Get(t.Context(), "first", nil); err != nil {
			t.Errorf("a read after the term: %v", err)
		}
	})
}

func TestFenceRefusesExec(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		r := c.replica(election.Options{})
		pods := pod.In(c.newClient(r, r.Fence()), "prod")
		exec := func(ctx context.Context) error {
			_, err := pods.Exec(ctx, "db-0", &pod.ExecOptions{Command: []string{"true"}})
			return err
		}
		if err := exec(t.Context()); !errors.Is(err, election.ErrNotLeader) {
			t.Errorf("Exec before the term = %v, want %v", err, election.ErrNotLeader)
		}
		if err := r.Run(t.Context(), exec); err == nil || errors.Is(err, election.ErrNotLeader) {
			t.Errorf("Exec of the leader = %v, want the server's error", err)
		}
	})
}

func TestFailuresAreLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		r := c.replica(election.Options{Identity: "a", Logger: slog.New(slog.NewTextHandler(&c.logs, nil))})
		r.cut.Store(true)
		result := r.start(t.Context(), func(context.Context) error { return nil })
		time.Sleep(time.Minute)
		r.cut.Store(false)
		if err := <-result; err != nil {
			t.Fatal(err)
		}
		logs := c.logs.String()
		for want, times := range map[string]int{
			"level=WARN msg=\"a request for the lease has failed\" lease=prod/shop identity=a leading=false": 1,
			"msg=leading": 1, "msg=\"no longer leading: the lease is released\"": 1, "msg=\"new leader\"": 1,
		} {
			if n := strings.Count(logs, want); n != times {
				t.Errorf("%q is logged %d times, want %d:\n%s", want, n, times, logs)
			}
		}
	})
}

// TestAFailingWriteIsLoggedOnce checks that successful reads between failing writes neither repeat the log nor hide the
// error, and that the error disappears when no write is necessary.
func TestAFailingWriteIsLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		r := c.replica(election.Options{Identity: "a", Logger: slog.New(slog.NewTextHandler(&c.logs, nil))})
		r.broken.Store(true)
		ctx, stop := context.WithCancelCause(t.Context())
		result := r.start(ctx, untilEnd)
		time.Sleep(5 * time.Second)
		for range 600 {
			time.Sleep(100 * time.Millisecond)
			if r.Status().Err == nil {
				t.Fatal("Status has no error although writes fail")
			}
		}
		synctest.Wait()
		if n := strings.Count(c.logs.String(), "a request for the lease has failed"); n != 1 {
			t.Errorf("the failing write is logged %d times:\n%s", n, c.logs.String())
		}
		if r.Status().Reached {
			t.Error("the replica has reached a lease that does not exist")
		}
		other, end := context.WithCancelCause(t.Context())
		others := c.replica(election.Options{Identity: "b"}).start(other, untilEnd)
		time.Sleep(5 * time.Second)
		if status := r.Status(); status.Err != nil || !status.Reached {
			t.Errorf("Status = %+v while another replica leads, want no error", status)
		}
		end(errStop)
		if err := <-others; !errors.Is(err, errStop) {
			t.Errorf("Run = %v, want %v", err, errStop)
		}
		time.Sleep(5 * time.Second)
		r.broken.Store(false)
		time.Sleep(5 * time.Second)
		if status := r.Status(); status.Err != nil || !status.Leading {
			t.Errorf("Status = %+v after a write, want no error", status)
		}
		stop(errStop)
		if err := <-result; !errors.Is(err, errStop) {
			t.Errorf("Run = %v, want %v", err, errStop)
		}
	})
}

// TestTheLossOfATermIsLoggedAtOnce checks that the log has the loss and its reason while the work ignores the end of its
// context.
func TestTheLossOfATermIsLoggedAtOnce(t *testing.T) {
	for reason, lose := range map[string]func(*cluster, *replica){
		"it was not renewed within Options.RenewDeadline, which is 10s: ": func(_ *cluster, r *replica) { r.cut.Store(true) },
		"the lease was deleted": func(c *cluster, _ *replica) {
			res, _ := core.ResourceOf[coordinationv1.Lease]()
			c.server.Delete(res, core.ObjectRef{Namespace: "prod", Name: "shop"})
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := newCluster(t)
			r := c.replica(election.Options{Identity: "a", Logger: slog.New(slog.NewTextHandler(&c.logs, nil))})
			leave := make(chan struct{})
			result := r.start(t.Context(), func(context.Context) error {
				<-leave
				return nil
			})
			time.Sleep(5 * time.Second)
			lose(c, r)
			time.Sleep(15 * time.Second)
			synctest.Wait()
			logs := c.logs.String()
			want := "the lease is lost: the work ends"
			if strings.Count(logs, want) != 1 || !strings.Contains(logs, "lease prod/shop: the lease is lost: "+reason) {
				t.Errorf("the log has not %q once, with the reason %q:\n%s", want, reason, logs)
			}
			close(leave)
			if err := <-result; !errors.Is(err, election.ErrLost) || !strings.Contains(err.Error(), reason) {
				t.Errorf("Run = %v, want the reason %q", err, reason)
			}
			if n := strings.Count(c.logs.String(), want); n != 1 {
				t.Errorf("the loss is logged %d times:\n%s", n, c.logs.String())
			}
		})
	}
}

// TestALogThatBlocksDoesNotDelayTheEndOfTheWork has a log that blocks at the loss of a term, such as a full pipe.
func TestALogThatBlocksDoesNotDelayTheEndOfTheWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan struct{})
		r := newCluster(t).replica(election.Options{
			Logger: bubble.BlockingLog("the lease is lost: the work ends", ended),
		})
		var took time.Duration
		err := r.Run(t.Context(), func(ctx context.Context) error {
			defer close(ended)
			cut := time.Now()
			r.cut.Store(true)
			<-ctx.Done()
			took = time.Since(cut)
			return context.Cause(ctx)
		})
		if !errors.Is(err, election.ErrLost) || took > 10*time.Second {
			t.Errorf("Run = %v, and the work ended after %v, want at most RenewDeadline", err, took)
		}
	})
}

// asking is a log handler that asks an elector for its status.
type asking struct {
	slog.Handler
	t       *testing.T
	elector **replica
	records *atomic.Int32
}

func (asking) Enabled(context.Context, slog.Level) bool { return true }

func (h asking) WithAttrs([]slog.Attr) slog.Handler { return h }

func (h asking) Handle(context.Context, slog.Record) error {
	h.records.Add(1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		(*h.elector).Status()
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
	r = c.replica(election.Options{
		LeaseDuration: 20 * time.Minute, RenewDeadline: 15 * time.Minute, RetryPeriod: 10 * time.Millisecond,
		Logger: slog.New(asking{slog.DiscardHandler, t, &r, &records}),
	})
	r.late.Store(true) // a failed request
	led := false
	err := r.Run(t.Context(), func(context.Context) error {
		led = true
		return nil
	})
	if err != nil || !led || records.Load() < 4 {
		t.Errorf("Run() = %v, has led: %v, %d log records", err, led, records.Load())
	}
}

func TestInvalidOptionsAreErrors(t *testing.T) {
	c := newCluster(t)
	for _, tt := range []struct {
		name string
		in   election.Options
		want string
	}{
		{"no name", election.Options{}, "Options.Name is empty"},
		{"a name that a lease can't have", election.Options{Name: "X_y"}, `Options.Name is "X_y": set lower-case letters`},
		{"no namespace", election.Options{}, "Options.Namespace is empty"},
		{"invalid namespace", election.Options{Namespace: "Prod/x"}, `Options.Namespace is "Prod/x"`},
		{"a part of a second", election.Options{LeaseDuration: 15500 * time.Millisecond}, "set whole seconds"},
		{"the deadline is too short", election.Options{RenewDeadline: time.Second}, "more than RetryPeriod"},
		{"an identity that the lease would change", election.Options{Identity: "node\xff"}, "set valid UTF-8"},
		{"negative", election.Options{RetryPeriod: -1}, "set a positive duration"},
		{
			"a term could end after the next one begins",
			election.Options{LeaseDuration: 11 * time.Second, RenewDeadline: 10 * time.Second},
			"more than the sum",
		},
	} {
		if tt.in.Name == "" && tt.name != "no name" {
			tt.in.Name = "shop"
		}
		if tt.in.Namespace == "" && tt.name != "no namespace" {
			tt.in.Namespace = "prod"
		}
		err := election.New(c.server.Client(), &tt.in).Run(t.Context(), untilEnd)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: Run = %v, want an error with %q", tt.name, err, tt.want)
		}
	}
}

func TestANilClientIsAnError(t *testing.T) {
	err := election.New(nil, &election.Options{Name: "shop"}).Run(t.Context(), func(context.Context) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "the client is nil") {
		t.Errorf("Run() = %v", err)
	}
}
