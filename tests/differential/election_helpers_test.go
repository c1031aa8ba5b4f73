// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package differential_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/runtime/election"
)

// leaseName is the lease for which the candidates compete.
const leaseName = "shop"

// leaseServer serves one lease as an API server does: an update needs the current resource version.
type leaseServer struct {
	t *testing.T

	mu      sync.Mutex // guards the fields below
	version int
	stored  *coordinationv1.Lease
	written []coordinationv1.LeaseSpec // each stored state
}

// ServeHTTP implements http.Handler.
func (s *leaseServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var sent coordinationv1.Lease
	if r.Method != http.MethodGet {
		if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
			s.t.Errorf("%s %s: %v", r.Method, r.URL, err)
			refuse(w, http.StatusBadRequest, metav1.StatusReasonBadRequest)
			return
		}
	}
	switch {
	case path.Base(r.URL.Path) != leaseName && r.Method != http.MethodPost:
		refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound)
		return
	case s.stored == nil && r.Method != http.MethodPost:
		refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound)
		return
	case r.Method == http.MethodPost && s.stored != nil:
		refuse(w, http.StatusConflict, metav1.StatusReasonAlreadyExists)
		return
	case r.Method == http.MethodPut && sent.ResourceVersion != s.stored.ResourceVersion:
		refuse(w, http.StatusConflict, metav1.StatusReasonConflict)
		return
	case r.Method != http.MethodGet:
		s.store(&sent)
	}
	respond(w, http.StatusOK, s.stored)
}

// store stores a lease. s.mu is held.
func (s *leaseServer) store(l *coordinationv1.Lease) {
	s.version++
	l.ResourceVersion = strconv.Itoa(s.version)
	l.TypeMeta = metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"}
	s.stored = l
	s.written = append(s.written, *l.Spec.DeepCopy())
}

// spec returns the stored lease.
func (s *leaseServer) spec() coordinationv1.LeaseSpec {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *s.stored.Spec.DeepCopy()
}

// writes returns each state that was stored.
func (s *leaseServer) writes() []coordinationv1.LeaseSpec {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]coordinationv1.LeaseSpec(nil), s.written...)
}

func refuse(w http.ResponseWriter, code int32, reason metav1.StatusReason) {
	respond(w, int(code), &metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: code, Reason: reason,
		Details: &metav1.StatusDetails{Name: leaseName},
	})
}

func respond(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v) // into memory
}

var errCut = errors.New("connection cut")

// network is the connection of a candidate. While it is cut, requests fail. If late is set, the response to the next
// write is lost. If silent is set, such requests do not fail before their context ends.
type network struct {
	server            *leaseServer
	cut, late, silent atomic.Bool
}

// fail returns the error of a request without a response.
func (n *network) fail(r *http.Request) (*http.Response, error) {
	if n.silent.Load() {
		<-r.Context().Done()
	}
	return nil, errCut
}

// RoundTrip implements http.RoundTripper.
func (n *network) RoundTrip(r *http.Request) (*http.Response, error) {
	if n.cut.Load() {
		return n.fail(r)
	}
	rec := httptest.NewRecorder()
	n.server.ServeHTTP(rec, r)
	if r.Method != http.MethodGet && n.late.Swap(false) {
		return n.fail(r)
	}
	resp := rec.Result()
	resp.Request = r
	return resp, nil
}

// candidate is a process that competes for the lease. run is one term: it calls lead, whose context ends with the term.
type candidate interface {
	run(ctx context.Context, lead func(context.Context))
	leader() string // as this candidate has read it
}

// newCandidate returns a candidate of one of the two libraries, with the default times of both.
type newCandidate func(t *testing.T, identity string, n *network) candidate

type ourCandidate struct{ *election.Elector }

func newOurs(t *testing.T, identity string, n *network) candidate {
	t.Helper()
	c := must(client.New(t.Context(), &client.Options{
		Config: &config.Config{Server: "https://cluster.test", Namespace: "prod"}, Transport: n,
		Retry: &middleware.RetryOptions{MaxAttempts: 1}, Logger: slog.New(slog.DiscardHandler),
	}))
	return ourCandidate{election.New(c, &election.Options{
		Name: leaseName, Identity: identity, Logger: slog.New(slog.DiscardHandler),
	})}
}

func (c ourCandidate) run(ctx context.Context, lead func(context.Context)) {
	_ = c.Run(ctx, func(ctx context.Context) error { // the end of the term
		lead(ctx)
		return context.Cause(ctx)
	})
}

func (c ourCandidate) leader() string { return c.Status().Leader }

// theirCandidate is a process with client-go. It has a new elector for each term, as a restarted process has.
type theirCandidate struct {
	leases   *coordination.CoordinationV1Client
	identity string
	elector  atomic.Pointer[leaderelection.LeaderElector]
}

func newTheirs(t *testing.T, identity string, n *network) candidate {
	t.Helper()
	leases := must(coordination.NewForConfig(&rest.Config{
		Host: "https://cluster.test", Transport: n, QPS: -1,
		ContentConfig: rest.ContentConfig{ContentType: "application/json", AcceptContentTypes: "application/json"},
	}))
	return &theirCandidate{leases: leases, identity: identity}
}

func (c *theirCandidate) run(ctx context.Context, lead func(context.Context)) {
	elector := must(leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Namespace: "prod", Name: leaseName}, Client: c.leases,
			LockConfig: resourcelock.ResourceLockConfig{Identity: c.identity},
		},
		LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second,
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: lead, OnStoppedLeading: func() {},
		},
	}))
	c.elector.Store(elector)
	elector.Run(logr.NewContext(ctx, logr.Discard()))
}

func (c *theirCandidate) leader() string {
	if e := c.elector.Load(); e != nil {
		return e.GetLeader()
	}
	return ""
}
