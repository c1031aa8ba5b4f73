// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"slices"
	"testing"
)

// TestVersionsAreOrdered checks the order of https://semver.org/#spec-item-11.
func TestVersionsAreOrdered(t *testing.T) {
	ordered := []string{
		"0.0.0", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1", "1.0.0",
		"1.0.1", "1.2.0", "1.10.0", "2.0.0-0", "2.0.0",
	}
	var versions []version
	for _, text := range ordered {
		v, err := parseVersion(text)
		if err != nil {
			t.Fatal(err)
		}
		versions = append(versions, v)
	}
	if !slices.IsSortedFunc(versions, version.compare) {
		t.Error("sorted versions are in the wrong order")
	}
	for i := range versions[1:] {
		if versions[i].compare(versions[i+1]) != -1 || versions[i+1].compare(versions[i]) != 1 || versions[i].compare(versions[i]) != 0 {
			t.Errorf("compare does not order %s before %s", ordered[i], ordered[i+1])
		}
	}
}

// FuzzVersion checks that lenient parsing of a valid version returns the same version.
func FuzzVersion(f *testing.F) {
	for _, text := range []string{"1.2.3", "1.2.3-a.1+b", "v01.2", "1.0.0-", "1.0.0+", "1..2", "99999999999999999999.0.0", "1.2.3-01", "v1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := parseVersion(text)
		lenient, lerr := parseLenient(text)
		if err != nil {
			return
		}
		if lerr != nil || lenient.compare(v) != 0 {
			t.Errorf("parseVersion(%q) = %v, parseLenient = %v, %v", text, v, lenient, lerr)
		}
	})
}
