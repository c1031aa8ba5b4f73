// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package conformance_test

import (
	"fmt"
	"testing"

	"github.com/kube-go/sdk/core/abi"
	"github.com/kube-go/sdk/wasm/host"
)

// busy returns a module that needs some milliseconds for each item, and always has items: chunks of responses without
// an end, or delays of no time.
func busy(delays bool) module {
	m := module{describes: actor, submits: encode(get("/test/flood")), spins: 100_000}
	if delays {
		m.submits, m.delays = encode(abi.Delay{}), true
	}
	return m
}

func TestModulesThatAlwaysHaveItemsDoNotDelayOthers(t *testing.T) {
	for name, delays := range map[string]bool{"responses": false, "delays": true} {
		t.Run(name, func(t *testing.T) {
			w := newHostileWorld(t, host.Options{})
			for n := range 2 { // as many as can run at the same time
				w.add(t, host.Module{
					Name: fmt.Sprint("busy-", n), Binary: busy(delays).encode(),
					Limits: host.Limits{RequestsPerSecond: 1000, BufferBytes: 20 << 20, CPU: 1000}, // so that they never wait
				})
			}
			for n := range 2 {
				w.await(t, "the calls", func() bool { return w.status(fmt.Sprint("busy-", n)).Stats.Calls > 3 })
			}
			w.add(t, host.Module{Name: "other", Binary: module{describes: actor}.encode()})
			w.await(t, "the start of the other module", func() bool { return w.status("other").Phase == host.Running })
			within(t, "Remove", func() { w.Remove(t.Context(), "busy-0") })
		})
	}
}

// TestCPUTimeOfAModuleIsLimitedOverTime has modules that always have something to do, and so small a share of a CPU
// that after their start the next call is due in hours, however fast the machine is. Package host tests when it is due.
func TestCPUTimeOfAModuleIsLimitedOverTime(t *testing.T) {
	for name, m := range map[string]module{
		"responses": busy(false), "delays": busy(true),
		"reconciler": {describes: reconciler, submits: []byte(`{"requeueAfterMillis":1}`), spins: 100_000},
	} {
		t.Run(name, func(t *testing.T) {
			w := newHostileWorld(t, host.Options{})
			for n := range 20 {
				w.server.put(configMapPath, configMap(object{"namespace": "n", "name": fmt.Sprint("o", n)}, nil))
			}
			w.add(t, host.Module{
				Name: "busy", Binary: m.encode(),
				Limits: host.Limits{CPU: 1e-9, RequestsPerSecond: 1000, BufferBytes: 4 << 20, InFlight: 8},
			})
			w.await(t, "the wait of the module", func() bool { return w.status("busy").Stats.Throttled > 0 })
			calls := w.status("busy").Stats.Calls
			w.add(t, host.Module{Name: "other", Binary: busy(true).encode(), Limits: host.Limits{CPU: 1000, InFlight: 8}})
			w.await(t, "the calls of another module", func() bool { return w.status("other").Stats.Calls > 200 })
			s := w.status("busy")
			t.Logf("the module was called %d times, and has waited for %v", s.Stats.Calls, s.Stats.Throttled)
			if s.Stats.Calls != calls || s.Failures > 0 || s.Phase != host.Running {
				t.Errorf("the status is %+v, want the %d calls before the module has waited, and no failure", s, calls)
			}
			within(t, "Remove", func() { w.Remove(t.Context(), "busy") })
		})
	}
}
