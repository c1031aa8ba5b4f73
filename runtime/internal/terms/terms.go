// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package terms connects the term of a replica with the work that runs in it.
package terms

import "context"

// Unfinished is the error of work that has returned although a part of it continues. Done is closed when that ends.
type Unfinished struct {
	Err  error
	Done <-chan struct{}
}

func (u *Unfinished) Error() string { return u.Err.Error() }

func (u *Unfinished) Unwrap() error { return u.Err }

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

// Of returns the term of the context of work: a context that ends when the term is lost. Outside of a term it never ends.
func Of(ctx context.Context) context.Context {
	if term, ok := ctx.Value(termKey{}).(context.Context); ok {
		return term
	}
	return context.Background()
}
