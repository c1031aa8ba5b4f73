// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package terms has the type of the errors that end the term of a replica.
package terms

// Lost is the cause of a context that ends because another replica may take over soon. What runs with this context has
// only the time until then to stop.
type Lost string

func (l Lost) Error() string { return string(l) }
