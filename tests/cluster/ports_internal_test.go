// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"strings"
	"testing"
)

func TestReservedPortCannotBeTaken(t *testing.T) {
	var first, second reservation
	defer func() {
		if err := second.release(); err != nil {
			t.Error(err)
		}
	}()
	port, err := first.take(0)
	if err != nil {
		t.Fatal(err)
	}
	if port < firstPort || port > lastPort {
		t.Errorf("take(0) = %d, want a port from %d to %d", port, firstPort, lastPort)
	}
	if _, err := second.take(port); err == nil || !strings.Contains(err.Error(), "is in use") {
		t.Errorf("second reservation of port %d: %v", port, err)
	}
	if err := first.release(); err != nil {
		t.Fatal(err)
	}
	if got, err := second.take(port); got != port || err != nil {
		t.Errorf("take(%d) after its release = %d, %v", port, got, err)
	}
}
