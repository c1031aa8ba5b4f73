// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package conformance

import "testing"

func TestCompareDescribesTheFirstDifference(t *testing.T) {
	tests := []struct{ name, recorded, server, want string }{
		{"equal documents", `{"a":1}`, `{"a":1}`, ""},
		{"another value", `{"a":1}`, `{"a":2}`, "at byte 5:\nrecorded {\"a\":1}\nserver   {\"a\":2}"},
		{"a longer document", `{"a":1}`, `{"a":1}{}`, "at byte 7:\nrecorded {\"a\":1}\nserver   {\"a\":1}{}"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := compare([]byte(test.recorded), []byte(test.server)); got != test.want {
				t.Errorf("compare(%s, %s) = %q, want %q", test.recorded, test.server, got, test.want)
			}
		})
	}
}

func TestMinorIgnoresThePatchVersion(t *testing.T) {
	for in, want := range map[string]string{"v1.37.2": "v1.37", "v1.37.0-rc.1": "v1.37", "v2.0": "v2.0", "": ""} {
		if got := minor(in); got != want {
			t.Errorf("minor(%q) = %q, want %q", in, got, want)
		}
	}
}
