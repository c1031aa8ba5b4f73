// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import "testing"

func TestParseProcess(t *testing.T) {
	const own = "42 (a (strange) name) S 1 42 42 0 -1 4194560 2 0 0 0 150 50 0 0 20 0 9 0 6000 1000000 77 18446744073709551615 0"
	const system = "cpu  1 2 3\nctxt 4\nbtime 1700000000\nprocesses 5\n"
	if p, ok := parseProcess(own, system); !ok || p != (processStat{cpu: 2, start: 1700000060, pages: 77}) {
		t.Errorf("parseProcess() = %+v, %v", p, ok)
	}
	for _, files := range [][2]string{{"", ""}, {own, ""}, {"", system}, {own, "\nbtime x\n"}, {own[:40], system}} {
		if p, ok := parseProcess(files[0], files[1]); ok {
			t.Errorf("parseProcess(%q, %q) = %+v", files[0], files[1], p)
		}
	}
}
