// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"testing"

	"github.com/kube-go/sdk/kubetest/conformance"
	"github.com/kube-go/sdk/kubetest/conformance/recorded"
)

// TestKubetestIsLikeTheServer runs the tests that kubetest passes on the real server.
func TestKubetestIsLikeTheServer(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	conformance.Run(t, c)
	conformance.RunControllers(t, c)
	recorded.Check(t, c)
}
