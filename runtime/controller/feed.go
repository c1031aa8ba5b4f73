// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"iter"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/reflector"
)

// Feed is the packed objects of one kind in one cluster, and their changes. Each [cache.View] is a Feed, whatever its
// kind; its methods have the same names. Implement Feed to reconcile objects that come from elsewhere, such as from
// another process. It must be safe for concurrent use, and comparable. A feed of the reconciled kind that also has the
// method Follow of [cache.View] delivers its changes through it, and not through Subscribe, unless predicates or
// [Options.IgnoreOwnWrites] read the states.
type Feed interface {
	FeedIdentity
	FeedProgress
	FeedObjects
}

// FeedIdentity identifies a [Feed].
type FeedIdentity interface {
	// Server returns the URL of the server. Writes to it with [client.API] are writes of the feed's objects.
	Server() string
	// Cluster returns the name of the cluster, see [Key].
	Cluster() string
	// Resource returns the resource of the kind.
	Resource() core.Resource
}

// FeedProgress runs a [Feed].
type FeedProgress interface {
	// Run keeps the objects synced until ctx ends, and returns the cause, or the error of an invalid feed.
	Run(ctx context.Context) error
	// Ready waits until the objects are synced. If the feed is invalid, it returns the same error as Run.
	Ready(ctx context.Context) error
	// Health returns the error of the last request, or nil.
	Health() error
}

// FeedObjects reads the objects of a [Feed].
type FeedObjects interface {
	FeedChanges
	// State returns the current state of an object, which may not exist; see [reflector.StateOf].
	State(ref core.ObjectRef) reflector.State
	// Concerns reports whether the feed observes a write of an object.
	Concerns(obj core.Object) bool
}

// FeedChanges notifies of the changes of a [Feed].
type FeedChanges interface {
	// Subscribe yields the existing objects as Added with Initial set, a Bookmark when they are complete, and then each
	// change. It ends with the cause of ctx, or with the error of an invalid feed.
	Subscribe(ctx context.Context) iter.Seq2[reflector.Change, error]
	// Observe notifies o of observed versions and deletions until stop is called.
	Observe(o reflector.Observer) (stop func())
}
