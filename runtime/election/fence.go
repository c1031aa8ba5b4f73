// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package election

import (
	"fmt"

	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/runtime/internal/terms"
)

// Fence returns a middleware that refuses writes while this replica is not the leader, with an error that wraps
// [ErrNotLeader]. Exec, attach and port-forward count as writes. Use it in the client of the work that only the leader
// may do, also if that work ignores the end of its context. The elector needs another client, whose requests for the
// lease are not refused:
//
//	e := election.New(c, &election.Options{Name: "document-controller"})
//	fenced, err := client.New(ctx, &client.Options{Config: c.Config(), PerAttempt: []middleware.Func{e.Fence()}})
//
// In PerAttempt it also refuses writes that are sent again after the end of a term. A write that was sent before may
// still reach the server: the difference between [Options.LeaseDuration] and [Options.RenewDeadline] allows for this.
func (e *Elector) Fence() middleware.Func {
	return terms.Fence(func() bool { return e.Status().Leading },
		fmt.Errorf("lease %s/%s: %w", e.options.Namespace, e.options.Name, ErrNotLeader))
}
