// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/client/pod"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/runtime/internal/apierr"
)

// move evicts a pod, repeatedly if necessary, and waits until the watch reports that it is deleted. No response to an
// eviction proves that: a conflict may be about the pod's UID, but also about the status of its disruption budget.
func (d *drain) move(ctx context.Context, p *Pod, gone <-chan struct{}) {
	for n := 1; p.State != Evicted; n++ {
		err := d.ask(ctx, p)
		var wait time.Duration
		switch {
		case err == nil:
			d.set(p, Evicted, "")
			continue
		case apierr.NotFound(err):
			d.set(p, Evicted, "")
			continue
		case ctx.Err() != nil:
			return
		case manyBudgets(err):
			d.set(p, Failed, "more than one PodDisruptionBudget selects it, so the server never evicts it: change their "+
				"selectors so that only one does, or set DisableEviction to ignore them")
			return
		case !mayPass(err):
			d.set(p, Failed, reason(err))
			return
		default:
			d.set(p, Blocked, reason(err))
			wait = backoff(n)
			if asked, ok := core.RetryAfter(err); ok {
				wait = min(max(wait, asked), time.Minute)
			}
		}
		select {
		case <-gone: // by other means
			d.set(p, Gone, "")
			return
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
	select {
	case <-gone:
		d.set(p, Gone, "")
	case <-ctx.Done():
	}
}

// ask sends the eviction or the deletion of a pod.
func (d *drain) ask(ctx context.Context, p *Pod) error {
	select {
	case d.calls <- struct{}{}:
		defer func() { <-d.calls }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	ctx = middleware.WithAttempts(ctx, 1) // move itself retries
	if d.options.DisableEviction {
		o := &request.DeleteOptions{GracePeriod: d.options.GracePeriod, UID: p.UID}
		return client.Namespaced[corev1.Pod](d.client, p.Ref.Namespace).Delete(ctx, p.Ref.Name, o)
	}
	o := &request.EvictOptions{GracePeriod: d.options.GracePeriod, UID: p.UID}
	return pod.In(d.client, p.Ref.Namespace).Evict(ctx, p.Ref.Name, o)
}

// manyBudgets reports whether the eviction failed because several disruption budgets select the pod. The response has
// the code of a passing failure and no reason, so only its message identifies it.
func manyBudgets(err error) bool {
	se, ok := errors.AsType[*core.StatusError](err)
	return ok && se.Status.Code == http.StatusInternalServerError &&
		strings.Contains(se.Status.Message, "more than one PodDisruptionBudget")
}

// mayPass reports whether a later eviction may succeed.
func mayPass(err error) bool {
	if errors.Is(err, core.ErrConflict) {
		return true
	}
	if _, ok := errors.AsType[*pod.BudgetError](err); ok {
		return true
	}
	if _, ok := core.CauseOf(err, "NamespaceTerminating"); ok { // such a namespace refuses to create an eviction
		return true
	}
	return core.IsRetryable(err)
}

// reason returns the text of an error without the operation, which the report names.
func reason(err error) string {
	if op, ok := errors.AsType[*client.OpError](err); ok {
		return op.Err.Error()
	}
	return err.Error()
}

// backoff returns the delay after the nth failure. It doubles up to five seconds, and half of it is random.
func backoff(n int) time.Duration {
	d := min(500*time.Millisecond<<min(n-1, 4), 5*time.Second)
	return d/2 + rand.N(d/2+1)
}
