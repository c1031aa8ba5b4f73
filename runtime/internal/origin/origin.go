// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package origin connects a run with the server of its object.
package origin

import "context"

// Key is the key of a context's value that is the URL of the server, a string.
type Key struct{}

// Of returns the URL of the server that has the object of a run, for the context of the run. It is empty for other
// contexts, and if the objects do not come from a client.
func Of(ctx context.Context) string {
	server, _ := ctx.Value(Key{}).(string)
	return server
}
