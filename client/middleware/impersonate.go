// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package middleware

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Impersonate asks the server to treat requests as those of another user, see
// https://kubernetes.io/docs/reference/access-authn-authz/authentication/#user-impersonation.
func Impersonate(user, uid string, groups []string, extra map[string][]string) Func {
	headers := http.Header{"Impersonate-User": {user}}
	if uid != "" {
		headers.Set("Impersonate-Uid", uid)
	}
	for _, g := range groups {
		headers.Add("Impersonate-Group", g)
	}
	for key, values := range extra {
		for _, v := range values {
			headers.Add("Impersonate-Extra-"+escapeHeader(key), v)
		}
	}
	return func(next http.RoundTripper) http.RoundTripper {
		return RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
			if r.Header.Get("Impersonate-User") != "" {
				return next.RoundTrip(r)
			}
			r = r.Clone(r.Context())
			for name, values := range headers {
				r.Header[name] = slices.Clone(values)
			}
			return next.RoundTrip(r)
		})
	}
}

// escapeHeader percent-encodes characters that are invalid in a header name. The server decodes them.
func escapeHeader(key string) string {
	return strings.ReplaceAll(url.QueryEscape(key), "+", "%20")
}
