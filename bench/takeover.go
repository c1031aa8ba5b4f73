// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/controller"
	"github.com/kube-go/sdk/runtime/election"
	"github.com/kube-go/sdk/runtime/manager"
)

func takeoverFigures() []*figure {
	return []*figure{{
		name: "a standby leads: from its lease to its first reconcile", unit: inMS,
		ours: value{"", takeoverTrial("takeover/ours"), "start"}, bar: bar{limit: 1},
	}}
}

// takeoverTrial starts two replicas, stops the leader, and measures the time from the write with which the other one
// takes the lease until its first reconcile.
func takeoverTrial(name string) *trial {
	return &trial{name: name, run: func(ctx context.Context, e *env) (values, error) {
		l := &leases{}
		e.wrap = l.wrap
		began := func() (mark func(), at <-chan time.Time) {
			first := make(chan time.Time, 1)
			var once sync.Once
			return func() { once.Do(func() { first <- time.Now() }) }, first
		}
		markFirst, firstRuns := began()
		first, err := startReplica(ctx, e, "first", markFirst)
		if err != nil {
			return nil, err
		}
		defer first.stop()
		if _, err := await(first, firstRuns); err != nil {
			return nil, err
		}
		markSecond, secondRuns := began()
		second, err := startReplica(ctx, e, "second", markSecond)
		if err != nil {
			return nil, err
		}
		defer second.stop()
		first.stop()
		at, err := await(second, secondRuns)
		if err != nil {
			return nil, err
		}
		return values{"start": at.Sub(l.lastTaken()).Seconds()}, nil
	}}
}

// retryPeriod is the time between the requests for the lease. It is shorter than the default, which saves time: the
// wait for the lease is not measured.
const retryPeriod = 200 * time.Millisecond

// startReplica starts a replica of a program with a controller of pods, and returns when its cache is synced.
// reconciled is called at the start of each reconcile.
func startReplica(ctx context.Context, e *env, identity string, reconciled func()) (*running, error) {
	c, err := newClient(ctx, e)
	if err != nil {
		return nil, err
	}
	pods := cache.Of[corev1.Pod](cache.New(c, nil), nil)
	silent := slog.New(slog.DiscardHandler)
	m := manager.New(c, &manager.Options{
		LeaderElection: "bench", Logger: silent,
		ElectionOptions: &election.Options{Identity: identity, Namespace: "bench", RetryPeriod: retryPeriod},
	})
	ctl := controller.New(controller.ForView(pods), quiet(0))
	m.Add(ctl.With(func(context.Context, *corev1.Pod) (controller.Action, error) {
		reconciled()
		return controller.AwaitChange(), nil
	}))
	r := start(ctx, m.Run)
	return r, pods.Ready(ctx)
}

// leases responds to the requests for a lease instead of the server.
type leases struct {
	mu      sync.Mutex // guards the fields below
	version int
	stored  *coordinationv1.Lease
	holder  string // the last one
	taken   time.Time
}

// lastTaken returns when the lease was taken by its last holder.
func (l *leases) lastTaken() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.taken
}

func (l *leases) wrap(next http.RoundTripper) http.RoundTripper {
	return middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
		if !strings.Contains(r.URL.Path, "/leases") {
			return next.RoundTrip(r)
		}
		code, body, err := l.respond(r)
		if err != nil {
			return nil, err
		}
		return &http.Response{
			StatusCode: code, Status: http.StatusText(code), Request: r, Body: io.NopCloser(bytes.NewReader(body)),
			Header: http.Header{"Content-Type": {"application/json"}},
		}, nil
	})
}

func (l *leases) respond(r *http.Request) (code int, body []byte, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	refuse := func(code int32, reason metav1.StatusReason) (int, []byte, error) {
		body, err := json.Marshal(&metav1.Status{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: code, Reason: reason,
			Details: &metav1.StatusDetails{Kind: "leases"},
		})
		return int(code), body, err
	}
	if r.Method != http.MethodGet {
		sent := &coordinationv1.Lease{}
		if err := json.NewDecoder(r.Body).Decode(sent); err != nil {
			return 0, nil, err
		}
		if l.stored != nil && sent.ResourceVersion != l.stored.ResourceVersion {
			return refuse(http.StatusConflict, metav1.StatusReasonConflict)
		}
		l.version++
		sent.ResourceVersion = strconv.Itoa(l.version)
		sent.TypeMeta = metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"}
		l.stored = sent
		if holder := sent.Spec.HolderIdentity; holder != nil && *holder != "" && *holder != l.holder {
			l.holder, l.taken = *holder, time.Now()
		}
	}
	if l.stored == nil {
		return refuse(http.StatusNotFound, metav1.StatusReasonNotFound)
	}
	body, err = json.Marshal(l.stored)
	return http.StatusOK, body, err
}
