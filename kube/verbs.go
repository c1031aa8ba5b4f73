// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/pod"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/drain"
)

// What an API does in several steps.
type (
	// Entry is the place of one object on the server, to look at, change and write back, see [client.Entry].
	Entry[K any] = client.Entry[K]
	// ModifyOptions are the options of Modify and CreateOrUpdate, see [client.ModifyOptions].
	ModifyOptions = client.ModifyOptions
	// BudgetError says that a disruption budget does not allow an eviction now, see [pod.BudgetError].
	BudgetError = pod.BudgetError
	// ItemError says which object of a list or a watch can't be decoded, see [wire.ItemError].
	ItemError = wire.ItemError
)

// SubresourceOf returns a subresource that is read and written as a kind of its own, see [client.SubresourceOf].
func SubresourceOf[S, K any, P core.ObjectPtr[S]](a *API[K], name string, kind schema.GroupVersionKind) *Subresource[S] {
	return client.SubresourceOf[S, K, P](a, name, kind)
}

// Moving pods away from a node.
type (
	// DrainOptions are the options of [Drain], see [drain.Options].
	DrainOptions = drain.Options
	// DrainReport is what became of the pods of a node, see [drain.Report].
	DrainReport = drain.Report
	// DrainError says what keeps a node from being empty, see [drain.Error].
	DrainError = drain.Error
	// DrainState is what became of a pod, see [drain.State].
	DrainState = drain.State
	// DrainedPod is one pod of a node, and what became of it, see [drain.Pod].
	DrainedPod = drain.Pod
)

// What became of a pod.
const (
	DrainSkipped = drain.Skipped
	DrainRefused = drain.Refused
	DrainPending = drain.Pending
	DrainBlocked = drain.Blocked
	DrainEvicted = drain.Evicted
	DrainGone    = drain.Gone
	DrainFailed  = drain.Failed
)

// Drain cordons a node and moves its pods away, see [drain.Node].
func Drain(ctx context.Context, c *Client, node string, o *DrainOptions) (*DrainReport, error) {
	return drain.Node(ctx, c, node, o)
}
