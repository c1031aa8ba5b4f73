// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package terms connects the term of a replica with the work that runs in it.
package terms

import (
	"context"
	"fmt"
)

// Unfinished is the error of work that has returned although a part of it continues.
type Unfinished struct {
	Cause error           // of the end of the work
	Left  error           // describes the part that continues
	Done  <-chan struct{} // closed when that part ends
}

func (u *Unfinished) Error() string { return fmt.Sprintf("%v; %v", u.Cause, u.Left) }

func (u *Unfinished) Unwrap() []error { return []error{u.Cause, u.Left} }

type termKey struct{}

// Begin returns the context of the work in a term. It ends with ctx, or when lose is called because another replica may
// take over soon. Work may continue for a while after the end of ctx, but not after that of its term, see [Of].
func Begin(ctx context.Context) (work context.Context, lose context.CancelCauseFunc) {
	term, end := context.WithCancelCause(context.WithoutCancel(ctx))
	work, cancel := context.WithCancelCause(context.WithValue(ctx, termKey{}, term))
	return work, func(cause error) {
		end(cause)
		cancel(cause)
	}
}

// Of returns the term of the context of work: a context that ends when the term is lost. Outside of a term it never
// ends.
func Of(ctx context.Context) context.Context {
	if term, ok := ctx.Value(termKey{}).(context.Context); ok {
		return term
	}
	return context.Background()
}
