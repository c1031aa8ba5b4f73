// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package serviceaccount provides the verb that only service accounts have: requesting a token.
//
//	token, err := serviceaccount.In(c, "prod").Token(ctx, "robot", nil)
package serviceaccount
