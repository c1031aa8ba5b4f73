// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package conformance_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/kube-go/sdk/core/abi"
	"github.com/kube-go/sdk/wasm/host"
)

// busy returns a module that needs some milliseconds for each item, and always has items: chunks of responses without an
// end, or delays of no time.
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
					Name: fmt.Sprint("busy-", n), Binary: busy(delays).encode(), Limits: host.Limits{Requests: 1000, Buffers: 20 << 20},
				})
			}
			for n := range 2 {
				w.awaitFor(t, prompt, "the calls", func() bool { return w.status(fmt.Sprint("busy-", n)).Stats.Calls > 3 })
			}
			begun := time.Now()
			w.add(t, host.Module{Name: "other", Binary: module{describes: actor}.encode()})
			w.awaitFor(t, prompt, "the start of the other module", func() bool { return w.status("other").Phase == host.Running })
			t.Logf("the other module has started after %v", time.Since(begun))
			within(t, "Remove", func() { w.Remove(t.Context(), "busy-0") })
		})
	}
}

func TestCPUTimeOfAModuleIsLimitedOverTime(t *testing.T) {
	const share, burst = 0.02, 1200 * time.Millisecond
	for name, m := range map[string]module{
		"responses": busy(false), "delays": busy(true),
		"reconciler": {describes: reconciler, submits: []byte(`{"requeueAfterMillis":1}`), spins: 100_000},
	} {
		t.Run(name, func(t *testing.T) {
			w := newHostileWorld(t, host.Options{})
			for n := range 20 {
				w.server.put(configMapPath, configMap(object{"namespace": "n", "name": fmt.Sprint("o", n)}, nil))
			}
			begun := time.Now()
			w.add(t, host.Module{
				Name: "busy", Binary: m.encode(), Limits: host.Limits{CPU: share, Requests: 1000, Buffers: 4 << 20, InFlight: 8},
			})
			<-time.After(3 * time.Second)
			s, passed := w.status("busy"), time.Since(begun)
			t.Logf("the module has run for %v of %v, and has waited for %v", s.Stats.Running, passed, s.Stats.Throttled)
			// A reconciler may have eight calls more.
			if most := burst + time.Duration(share*float64(passed)) + 800*time.Millisecond; s.Stats.Running > most {
				t.Errorf("the module has run for %v of %v, want at most %v", s.Stats.Running, passed, most)
			}
			if s.Stats.Throttled == 0 || s.Stats.Failures > 0 {
				t.Errorf("the stats are %+v, want that calls have waited, and no failure", s.Stats)
			}
			within(t, "Remove", func() { w.Remove(t.Context(), "busy") })
		})
	}
}
