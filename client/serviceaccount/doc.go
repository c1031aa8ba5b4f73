// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package serviceaccount provides the verb that only service accounts have: requesting a token.
//
// Use it in programs that act for a service account, or that prove to another system, such as Vault, that they do. A
// token is valid for a limited time and for its audiences; request another one before it expires. In a pod, the kubelet
// does that for the token of the pod's own service account.
//
//	c, err := client.New(ctx, nil)
//	if err != nil {
//		return err
//	}
//	token, err := serviceaccount.In(c, "prod").Token(ctx, "robot", &request.TokenOptions{Audiences: []string{"vault"}})
//
// # Errors
//
// The error is a [client.OpError], which never contains the token. Printing a [Token] does not show it, either.
//
// # Concurrency
//
// An [API] is immutable and safe for concurrent use. A [Token] is the caller's own.
package serviceaccount
