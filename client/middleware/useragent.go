// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package middleware

// UserAgent sets the name of the program in the User-Agent header. The server derives default field managers from its
// first part.
func UserAgent(name string) Func { return header("User-Agent", constant(name)) }
