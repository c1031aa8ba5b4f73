// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
)

// Evict asks a pod to go, unless a disruption budget needs it. When it returns, the pod is about to end. An eviction that
// a budget does not allow is not tried again: how long that takes is for the caller to know.
//
// Errors: [*BudgetError], which matches [core.ErrTooManyRequests]; [core.ErrNotFound]; [core.ErrConflict] when a
// precondition does not hold; a [*request.InvalidError] for other kinds than pods.
func (a *API[K]) Evict(ctx context.Context, name string, o *request.EvictOptions) error {
	t := a.named(name)
	if err := a.only("evicted", "pods"); err != nil {
		return wrap("evict", t, err)
	}
	err := a.drop(ctx, "evict", t, encoded(t, func(t request.Target) (*request.Request, error) {
		return request.Evict(t, o)
	}))
	if op, ok := errors.AsType[*OpError](err); ok {
		op.Err = budgetError(op.Err)
	}
	return err
}

// BudgetError says that a disruption budget does not allow an eviction now.
type BudgetError struct {
	Budget     string        // the name of the PodDisruptionBudget, in the pod's namespace; empty when it does not say
	Detail     string        // what it needs, in the server's words
	RetryAfter time.Duration // how long the server asks to wait; zero when it does not say
	Err        error         // the server's response, which holds a [*core.StatusError]
}

// Error names the budget and what it needs.
func (e *BudgetError) Error() string {
	msg := e.Detail
	if e.Budget != "" {
		msg = "disruption budget " + e.Budget + ": " + msg
	}
	if e.RetryAfter > 0 {
		msg += fmt.Sprintf("; try again in %v", e.RetryAfter)
	}
	return msg
}

// Unwrap returns the server's response.
func (e *BudgetError) Unwrap() error { return e.Err }

// budgetError recognises the response to an eviction that a budget does not allow. Its cause is, for example, "The disruption
// budget web needs 2 healthy pods and has 2 currently".
func budgetError(err error) error {
	se, ok := errors.AsType[*core.StatusError](err) // inside a RetryError if the request was sent more than once
	if !ok || !errors.Is(se, core.ErrTooManyRequests) || se.Status.Details == nil {
		return err
	}
	for _, cause := range se.Status.Details.Causes {
		if cause.Type != metav1.CauseType("DisruptionBudget") {
			continue
		}
		e := &BudgetError{Detail: cause.Message, Err: err}
		if rest, ok := strings.CutPrefix(cause.Message, "The disruption budget "); ok {
			e.Budget, e.Detail, _ = strings.Cut(rest, " ")
		}
		e.RetryAfter, _ = core.RetryAfter(se)
		return e
	}
	return err
}
