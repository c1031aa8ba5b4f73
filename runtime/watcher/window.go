// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package watcher

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/core"
)

// ShardSource is the source of a shard of the objects, which changes while they are watched. Package sharding has one.
type ShardSource interface {
	// List is called before each list. It returns the shard for the list and the watches after it, which may have no
	// objects, and a context that ends when the objects have to be listed again.
	List() (*core.Shard, context.Context)

	// Listed is called when the consumer has received the list completely.
	Listed()
}

// Window selects the objects of a shard that changes, see [Options.Window]. It is used by one sequence at a time, and
// must not be copied. A sequence whose Window has no source yields an error.
type Window struct {
	source ShardSource // set before narrow
	narrow narrowing
	ready  atomic.Bool // the fields above are set
}

// narrowing is the part of a driver that selects the objects of a window. It is an interface so that programs without
// windows do not link it.
type narrowing interface {
	// begin prepares a request. It returns nil if the objects have to be listed again first.
	begin(d *driver, cancel context.CancelCauseFunc) (end func() bool)
	// over reports whether a request has ended because it selects the wrong objects, and completes the input.
	over(d *driver, w *watchdog, in *input) bool
	// has reports whether an object is in the shard.
	has(uid types.UID, namespace string) bool
}

// Set sets the source. It must be called only once.
func (w *Window) Set(s ShardSource) {
	w.source, w.narrow = s, &narrow{source: s}
	w.ready.Store(true)
}

// Source returns the source, or nil before it is set.
func (w *Window) Source() ShardSource {
	if !w.ready.Load() {
		return nil
	}
	return w.source
}

// Has reports whether a sequence yields the changes of an object.
func (w *Window) Has(uid types.UID, namespace string) bool {
	return w.ready.Load() && w.narrow.has(uid, namespace)
}

// narrow is the [narrowing] of a window with a source.
type narrow struct {
	source ShardSource
	shard  atomic.Pointer[core.Shard] // of the current list; nil before the first
	valid  context.Context            //nolint:containedctx // ends when shard is out of date
}

// errMoved is the cause of a request that ends because the shard has changed.
var errMoved = errors.New("the shard has changed")

// noObjects is a field selector that selects nothing, on every server.
const noObjects = "metadata.name=none,metadata.name!=none"

func (n *narrow) begin(d *driver, cancel context.CancelCauseFunc) (end func() bool) {
	if d.state.phase != watching && d.state.token == "" {
		var shard *core.Shard
		shard, n.valid = n.source.List()
		n.shard.Store(shard)
		n.choose(d, shard.String())
	} else if n.valid.Err() != nil {
		return nil
	}
	return context.AfterFunc(n.valid, func() { cancel(errMoved) })
}

// choose chooses the selectors of the requests for a shard.
func (n *narrow) choose(d *driver, selector string) {
	d.fields, d.selector, d.status.AllShards = d.opts.FieldSelector, selector, false
	switch {
	case selector == "" && d.fields == "":
		d.fields = noObjects
	case selector == "":
		d.fields += "," + noObjects
	case !d.opts.Server.has(shards, d.src.Resource(), time.Now()):
		d.selector, d.status.AllShards = "", true // the method has drops the objects of other shards
	}
}

func (n *narrow) over(d *driver, w *watchdog, in *input) bool {
	switch {
	case context.Cause(w.ctx) == errMoved:
		in.err = nil
	case d.selector != "" && errors.Is(in.err, core.ErrNotAcceptable):
		d.opts.Server.refuse(shards, d.src.Resource(), in.now)
		in.err = fmt.Errorf("all %s are requested, and those of other shards are dropped: %w", d.src.Resource(), in.err)
	default:
		return false
	}
	in.kind = gotMoved
	return true
}

func (n *narrow) has(uid types.UID, namespace string) bool {
	shard := n.shard.Load()
	return shard != nil && shard.Has(uid, namespace)
}
