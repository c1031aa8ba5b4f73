// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/bench/internal/objects"
	"github.com/kube-go/sdk/bench/internal/replay"
	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/controller"
)

func latencyFigures() []*figure {
	late := func(library, name string, c starter) value {
		return value{library, latencyTrial("latency/"+library, pods, c), name}
	}
	of := func(title, name string, b bar) *figure {
		return &figure{
			name: title, unit: inUS, ours: late("ours", name, startOurs), bar: b,
			peers: []value{late("classic", name, startClassic), late("default", name, startDefault)},
		}
	}
	alone, held := late("alone", "p99", startWriting(false)), late("beside", "p99", startWriting(true))
	return []*figure{
		{
			name: "from an event to its reconcile, p99, while a write of another object is not observed for 2 s", unit: inUS,
			ours: held, peers: []value{alone}, bar: bar{ratio: 1.05},
		},
		of("from the arrival of an event to the reconcile with its object, p50", "p50", bar{}),
		of("from the arrival of an event to the reconcile with its object, p99", "p99", bar{ratio: 0.5}),
		of("from the change in the server to the reconcile with its object, p50", "server-p50", bar{}),
		of("from the change in the server to the reconcile with its object, p99", "server-p99", bar{}),
	}
}

// startWriting returns a starter for the SDK. If writes is true, each run of the last object writes it, and the cache
// never observes the write: the object is held back for two seconds, and then runs again.
func startWriting(writes bool) starter {
	return func(ctx context.Context, e *env, _ kind, do reconciled) (func(context.Context) error, error) {
		last := objects.Pod(e.objects - 1)
		writer, err := client.New(ctx, &client.Options{Config: &config.Config{Server: e.url}, Transport: answerWith(last)})
		if err != nil {
			return nil, err
		}
		c, err := newClient(ctx, e)
		if err != nil {
			return nil, err
		}
		o := quiet(1)
		o.HoldTimeout = 2 * time.Second
		ctl := controller.New(controller.For[corev1.Pod](cache.New(c, nil)), o)
		rerun := false
		reconcile := func(ctx context.Context, pod *corev1.Pod) (controller.Action, error) {
			isLast := pod.Name == last.Name && pod.Namespace == last.Namespace
			if !rerun || !isLast {
				err := do(func() (string, error) { return pod.Annotations[replay.Sent], nil })
				if err != nil || !isLast || !writes {
					return controller.AwaitChange(), err
				}
			}
			rerun = true
			patch := request.MergePatch([]byte(`{"metadata":{"labels":{"bench":"held"}}}`))
			_, err := client.Namespaced[corev1.Pod](writer, last.Namespace).Patch(ctx, last.Name, patch, nil)
			return controller.RequeueAfter(time.Millisecond), err
		}
		return func(ctx context.Context) error { return ctl.Run(ctx, reconcile) }, nil
	}
}

// answerWith returns a transport that answers each request with an object of a version that no cache observes.
func answerWith(pod *corev1.Pod) http.RoundTripper {
	return middleware.RoundTripperFunc(func(*http.Request) (*http.Response, error) {
		body := fmt.Sprintf(`{"kind":"Pod","apiVersion":"v1","metadata":{"namespace":%q,"name":%q,"resourceVersion":"%d"}}`,
			pod.Namespace, pod.Name, uint64(math.MaxInt64))
		return &http.Response{
			StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {wire.MediaTypeJSON}},
			Body: io.NopCloser(strings.NewReader(body)),
		}, nil
	})
}

// latencies collects the times from the changes of objects.
type latencies struct {
	want int

	mu   sync.Mutex // guards all
	all  []time.Duration
	full chan struct{} // closed when there are as many as wanted

	waited time.Duration // for those that are missing
}

func newLatencies(want int) *latencies { return &latencies{want: want, full: make(chan struct{})} }

// addSince adds the time from the value of an annotation replay.Sent until now.
func (l *latencies) addSince(sent string, now time.Time) error {
	nanoseconds, err := strconv.ParseInt(sent, 10, 64)
	if err != nil {
		return fmt.Errorf("annotation %s: %w", replay.Sent, err)
	}
	l.add(now.Sub(time.Unix(0, nanoseconds)))
	return nil
}

func (l *latencies) add(took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all = append(l.all, took); len(l.all) == l.want {
		close(l.full)
	}
}

// wait waits for all latencies, at most for a time.
func (l *latencies) wait(limit time.Duration) {
	select {
	case <-l.full:
	case <-time.After(limit):
	}
	l.waited = limit
}

// quantile returns the value in seconds that a fraction of the latencies do not exceed. Missing latencies are counted
// with the time that wait has waited for them, which is too low.
func (l *latencies) quantile(q float64) float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := slices.Clone(l.all)
	for len(all) < l.want {
		all = append(all, l.waited)
	}
	slices.Sort(all)
	return all[int(math.Ceil(q*float64(len(all))))-1].Seconds()
}

// touchEvery changes the first objects of a resource, with a pause after each.
func touchEvery(ctx context.Context, e *env, plural string, count int, pause time.Duration) error {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for i := range count {
		e.control.Touch(plural, i)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// arrival records when the first bytes of an event arrive.
type arrival struct{ at atomic.Int64 } // nanoseconds since 1970; 0 if nothing has arrived since the last reset

// wrap returns a transport that records when bytes of a response are read from the connection.
func (a *arrival) wrap(next http.RoundTripper) http.RoundTripper { return &arriving{a, next} }

type arriving struct {
	arrival *arrival
	next    http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t *arriving) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(r)
	if err == nil {
		resp.Body = &arrivingBody{resp.Body, t.arrival}
	}
	return resp, err
}

type arrivingBody struct {
	io.ReadCloser
	arrival *arrival
}

// Read implements io.Reader.
func (b *arrivingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.arrival.at.CompareAndSwap(0, time.Now().UnixNano())
	}
	return n, err
}

// latencyTrial measures the times from the change of an object in the server, and from the arrival of the event in the
// process, until the reconcile has the object. The next change follows one millisecond after each reconcile.
func latencyTrial(name string, k kind, open starter) *trial {
	return &trial{name: name, limit: someObjects, run: func(ctx context.Context, e *env) (values, error) {
		want := min(e.objects-1, int(4*e.time/time.Millisecond)) // the last object is the one of startWriting
		var a arrival
		e.wrap = a.wrap
		inProcess, all := newLatencies(want), newLatencies(want)
		initial, next, runs := make(chan struct{}), make(chan struct{}, 1), 0
		run, err := open(ctx, e, k, func(read func() (string, error)) error {
			sent, err := read()
			now := time.Now()
			if err == nil && sent != "" {
				inProcess.add(now.Sub(time.Unix(0, a.at.Load())))
				err = all.addSince(sent, now)
				next <- struct{}{}
				return err
			}
			if runs++; runs == e.objects {
				close(initial)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		ctl := start(ctx, run)
		defer ctl.stop()
		if _, err := await(ctl, initial); err != nil {
			return nil, err
		}
		for i := range want {
			time.Sleep(time.Millisecond) //nolint:forbidigo // so that all goroutines are idle
			a.at.Store(0)
			e.control.Touch(string(k), i)
			if _, err := await(ctl, next); err != nil {
				return nil, err
			}
		}
		return values{
			"p50": inProcess.quantile(0.5), "p99": inProcess.quantile(0.99),
			"server-p50": all.quantile(0.5), "server-p99": all.quantile(0.99),
		}, nil
	}}
}
