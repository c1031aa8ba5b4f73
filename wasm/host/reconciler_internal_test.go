// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"strings"
	"testing"
	"time"

	"github.com/kube-go/sdk/core/abi"
)

func TestFieldManagersAreShortAndDiffer(t *testing.T) {
	long := strings.Repeat("a", 300)
	seen := map[string]bool{}
	for _, module := range []string{"ns/name", long + "/b", long + "/c", strings.Repeat("ü", 200)} {
		manager := managerOf(module)
		if len(manager) > maxManager || seen[manager] {
			t.Errorf("the field manager of %.20q… is %q: it is too long, or another module has it", module, manager)
		}
		seen[manager] = true
	}
	if got := managerOf("ns/name"); got != "wasm-ns/name" {
		t.Errorf("the field manager is %q", got)
	}
}

func TestWatchesOfAControllerAreACopy(t *testing.T) {
	owns := append(make([]abi.Watch, 0, 4), abi.Watch{Kind: "a"}, abi.Watch{Kind: "b"})
	c := &abi.Controller{For: abi.Watch{Kind: "c"}, Owns: owns}
	watchesOf(c)
	if shared := owns[:3][2]; shared.Kind != "" {
		t.Errorf("the capacity of owns has %q", shared.Kind)
	}
}

func TestDurationsOfGuestsDoNotOverflow(t *testing.T) {
	for _, n := range []int64{1, 1 << 40, 1 << 62, 1<<63 - 1} {
		if d := millis(n); d < time.Millisecond || time.Now().Add(d).Before(time.Now()) {
			t.Errorf("millis(%d) = %v", n, d)
		}
	}
}
