// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"log/slog"
	"testing"
	"time"
)

// TestServersCloseIdleConnections checks that connections of clients that are gone do not remain.
func TestServersCloseIdleConnections(t *testing.T) {
	m := New(nil, &Options{
		HealthAddr: "127.0.0.1:0", DebugAddr: "localhost:0", Logger: slog.New(slog.DiscardHandler),
	})
	s, err := m.serve()
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	if len(s.all) != 2 {
		t.Errorf("%d servers, want 2", len(s.all))
	}
	for _, server := range s.all {
		if d := server.IdleTimeout; d <= 0 || d > 5*time.Minute {
			t.Errorf("IdleTimeout = %v", d)
		}
	}
}
