// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"testing"

	"github.com/kube-go/sdk/client"
)

// runTyped tests the server with the typed client.
func runTyped(t *testing.T, c *client.Client) {
	t.Helper()
}
