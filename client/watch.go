// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"iter"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
)

// Watch sends one watch request and yields its events as they arrive. The sequence ends without an error when the
// server ends the watch, which it does after WatchOptions.Timeout; a watch that goes on for ever is runtime/watcher's.
// Ranging over the sequence again sends the request again.
//
// Errors: [core.ErrExpired] when the resource version is too old: list again. Kubernetes before 1.18 and some
// aggregated servers use the reason Gone for that, which is [core.ErrGone].
func (a *API[K]) Watch(ctx context.Context, o *request.WatchOptions) iter.Seq2[core.WatchEvent[K], error] {
	events := a.Feed().events(ctx, o)
	return func(yield func(core.WatchEvent[K], error) bool) {
		for ev, err := range events {
			if err != nil {
				yield(core.WatchEvent[K]{}, err)
				return
			}
			obj, err := a.decode(ev.Object)
			if err != nil {
				yield(core.WatchEvent[K]{}, wrap("watch", a.target, err))
				return
			}
			if obj != nil && !yield(core.WatchEvent[K]{Type: ev.Type, Object: obj}, nil) {
				return
			}
		}
	}
}

// outdated reports whether a watch failed because its resource version is too old, so that a new list is needed.
func outdated(err error) bool {
	return errors.Is(err, core.ErrExpired) || errors.Is(err, core.ErrGone)
}
