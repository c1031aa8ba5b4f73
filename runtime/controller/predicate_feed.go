// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"iter"
	"slices"

	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/reflector"
)

// wide is a feed whose objects also have the fields of another view of the same watch, which a predicate needs. Values
// with the same feeds are equal. It needs no Follow: isDirect excludes sources with a predicate.
type wide struct {
	feed
	other feed
}

// widen returns inputs whose objects have the fields that predicates need, also on other clusters.
func widen(inputs []input, predicates []Predicate) []input {
	all := slices.Clone(inputs)
	for i, in := range all {
		if checkAll(predicates, in.feed.Resource()) != nil { // Run returns the error
			continue
		}
		for _, p := range predicates {
			for _, view := range p.views {
				in = in.with(view)
			}
		}
		all[i] = in
	}
	return all
}

// with returns the input with the fields of another view.
func (in input) with(view func(of feed) feed) input {
	other := view(in.feed)
	if other == in.feed {
		return in
	}
	return input{wide{in.feed, other}, func(c *cache.Cache) feed {
		f := in.on(c)
		return wide{f, view(f)}
	}}
}

// Ready waits until all objects have the fields.
func (w wide) Ready(ctx context.Context) error {
	if err := w.other.Ready(ctx); err != nil {
		return err
	}
	return w.feed.Ready(ctx)
}

// Subscribe yields the changes of objects that have the fields: the subscription begins when those of the other view
// would.
func (w wide) Subscribe(ctx context.Context) iter.Seq2[reflector.Change, error] {
	return func(yield func(reflector.Change, error) bool) {
		if err := w.await(ctx); err != nil {
			yield(reflector.Change{}, err)
			return
		}
		w.feed.Subscribe(ctx)(yield)
	}
}

// await waits until the objects have the fields. Not all of them may exist yet.
func (w wide) await(ctx context.Context) error {
	if ready(w.other) {
		return nil
	}
	for _, err := range w.other.Subscribe(ctx) {
		return err
	}
	return nil // not reached: the sequence yields a change or an error
}
