// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package access asks a server who one is, or what one may do.
//
// Use it to say before a long piece of work what will be forbidden in the middle of it, or to leave out of a list of
// commands those that can't succeed. It does not replace the check that the server makes of each request.
//
//	d, err := access.Can(ctx, c, access.Action{Verb: "delete", Resource: pods, Namespace: "prod"}, nil)
//	if err == nil && !d.Allowed {
//		fmt.Println("may not delete pods:", d.Reason)
//	}
//
// # Errors
//
// A no is an answer, not an error. That the question could not be asked is a [*client.OpError].
package access
