// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package election

import (
	"fmt"
	"net/http"

	"github.com/kube-go/sdk/client/middleware"
)

// Fence returns a middleware that refuses writes while this replica is not the leader, with an error that wraps
// [ErrNotLeader]. Use it in the client of the work that only the leader may do, also if that work ignores the end of
// its context. The elector needs another client, whose requests for the lease are not refused:
//
//	e := election.New(c, &election.Options{Name: "document-controller"})
//	fenced, err := client.New(ctx, &client.Options{Config: c.Config(), PerAttempt: []middleware.Func{e.Fence()}})
//
// In PerAttempt it also refuses writes that are sent again after the end of a term. A write that was sent before may
// still reach the server: the difference between [Options.LeaseDuration] and [Options.RenewDeadline] is for it.
func (e *Elector) Fence() middleware.Func {
	return func(next http.RoundTripper) http.RoundTripper {
		return middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
			if r.Method != http.MethodGet && r.Method != http.MethodHead && !e.Status().Leading {
				if r.Body != nil {
					_ = r.Body.Close() // as RoundTripper requires
				}
				return nil, fmt.Errorf("lease %s/%s: %w", e.options.Namespace, e.options.Name, ErrNotLeader)
			}
			return next.RoundTrip(r)
		})
	}
}
