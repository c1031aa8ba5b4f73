// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package terms

import (
	"net/http"

	"github.com/kube-go/sdk/client/middleware"
)

// Fence returns a middleware that refuses writes with an error while this replica has no term.
func Fence(inTerm func() bool, refused error) middleware.Func {
	return func(next http.RoundTripper) http.RoundTripper {
		return middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
			if isWrite(r) && !inTerm() {
				if r.Body != nil {
					_ = r.Body.Close() // as RoundTripper requires
				}
				return nil, refused
			}
			return next.RoundTrip(r)
		})
	}
}

// isWrite reports whether a request may change something. Exec, attach and port-forward are reads that upgrade the
// connection.
func isWrite(r *http.Request) bool {
	return r.Method != http.MethodGet && r.Method != http.MethodHead || r.Header.Get("Upgrade") != ""
}
