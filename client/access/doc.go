// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package access asks a server which user a client is, and what it is allowed to do.
//
// Use it to check permissions before a long task instead of failing in the middle of it, or to leave out commands that
// cannot succeed. It does not replace the checks that the server makes for each request.
//
//	d, err := access.Can(ctx, c, access.Action{Verb: "delete", Resource: pods, Namespace: "prod"})
//	if err == nil && !d.Allowed {
//		fmt.Println("may not delete pods:", d.Reason)
//	}
//
// # Errors
//
// A denied action is a decision, not an error. If the review fails, the error is a [*client.OpError].
//
// # Concurrency
//
// The functions are safe for concurrent use. A [Decision] and an [Identity] are the caller's own.
package access
