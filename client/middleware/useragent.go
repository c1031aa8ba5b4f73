// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package middleware

// UserAgent names the program to the server, which also derives default field managers from the name's first part.
func UserAgent(name string) Func { return header("User-Agent", constant(name)) }
