// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"testing"

	"github.com/kube-go/sdk/kubetest/conformance"
)

// TestKubetestIsLikeTheServer runs the tests that kubetest passes on the real server.
func TestKubetestIsLikeTheServer(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	if !has(t, c, likeKubetest) {
		return
	}
	conformance.CheckRecorded(t, c)
	conformance.RunControllers(t, c) // first, since the deletion of the namespaces of Run delays these controllers
	conformance.Run(t, c)
}
