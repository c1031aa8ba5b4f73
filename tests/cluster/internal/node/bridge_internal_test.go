// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kube-go/sdk/tests/cluster/internal/build"
)

// claimed returns the directory and the bridge of a node whose owner was killed after it had made the bridge.
func claimed(t *testing.T) (dir, bridge string) {
	t.Helper()
	if err := Check(); err != nil {
		t.Skipf("not run: %v", err)
	}
	hierarchies, err := cgroupHierarchies()
	if err != nil {
		t.Fatal(err)
	}
	plan := newLayout(t.TempDir(), Binaries{}, Input{Service: "10.96.0.1:443"}, hierarchies)
	if err := plan.writeScripts(plan.Dir); err != nil {
		t.Fatal(err)
	}
	if err := claimBridge(&plan); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := CleanupDir(plan.Dir); err != nil {
			t.Error(err)
		}
	})
	return plan.Dir, plan.Bridge
}

// owner returns the directory of the node that has the bridge, if it exists.
func owner(bridge string) string {
	alias, _ := os.ReadFile(filepath.Join("/sys/class/net", bridge, "ifalias"))
	return strings.TrimSpace(string(alias))
}

func TestCleanupRemovesTheBridgeOfANodeThatIsNotComplete(t *testing.T) {
	dir, bridge := claimed(t)
	if got := owner(bridge); got != dir {
		t.Fatalf("%s belongs to %q, want %q", bridge, got, dir)
	}
	if err := CleanupDir(dir); err != nil {
		t.Fatal(err)
	}
	if owner(bridge) == dir {
		t.Errorf("%s remains", bridge)
	}
}

func TestCleanupWaitsForABridgeThatIsBeingMade(t *testing.T) {
	dir, bridge := claimed(t)
	lock, err := build.Lock(t.Context(), filepath.Join(dir, "bridge.lock"), func() {})
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	result := make(chan error, 1)
	go func() { result <- CleanupDir(dir) }()
	select {
	case err := <-result:
		t.Errorf("CleanupDir() = %v before the lock is released", err)
	case <-time.After(100 * time.Millisecond):
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-result; err != nil {
		t.Fatal(err)
	}
	if owner(bridge) == dir {
		t.Errorf("%s remains", bridge)
	}
}

func TestBridgeWithoutAnAliasIsNotKept(t *testing.T) {
	if err := Check(); err != nil {
		t.Skipf("not run: %v", err)
	}
	dir := t.TempDir()
	for range 5 { // longer than the kernel's limit of 255 bytes
		dir = filepath.Join(dir, strings.Repeat("d", 60))
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	const bridge = "kubego-test"
	if err := addBridge(bridge, dir); err == nil {
		t.Error("a bridge with this alias is not an error")
	}
	if _, err := os.Stat(filepath.Join("/sys/class/net", bridge)); err == nil {
		t.Errorf("%s remains", bridge)
	}
}

func TestSubnetIsInUseWhenTheMachineHasAnAddressInIt(t *testing.T) {
	for _, test := range []struct {
		name  string
		taken []string
		want  bool
	}{
		{name: "no address"},
		{name: "another node's", taken: []string{"127.0.0.1/8", "10.213.6.1/24", "fe80::1/64"}},
		{name: "its own", taken: []string{"10.213.7.1/24"}, want: true},
		{name: "an address in a larger network around it", taken: []string{"192.168.0.2/24", "10.1.2.3/8"}, want: true},
		{name: "a single address within it", taken: []string{"10.213.7.200/32"}, want: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			var taken []netip.Prefix
			for _, prefix := range test.taken {
				taken = append(taken, netip.MustParsePrefix(prefix))
			}
			if got := overlaps(nodeSubnet(7), taken); got != test.want {
				t.Errorf("overlaps(%v, %v) = %t, want %t", nodeSubnet(7), taken, got, test.want)
			}
		})
	}
}
