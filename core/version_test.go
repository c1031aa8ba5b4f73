// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package core_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/version"

	"github.com/kube-go/sdk/core"
)

// ordered are versions from the best to the worst, as the documentation of Kubernetes lists them, and some more.
func ordered() []string {
	return []string{
		"v10", "v2", "v01", "v1", "v0", "v11beta2", "v10beta3", "v3beta1", "v1beta10", "v1beta2", "v1beta01", "v1beta0",
		"v12alpha1", "v11alpha2", "", "V1", "beta", "foo1", "foo10", "v", "v1beta", "v1gamma1", "v1x", "vbeta1",
	}
}

func TestVersionsAreOrderedByStabilityThenByNumber(t *testing.T) {
	want := ordered()
	for _, got := range [][]string{slices.Sorted(slices.Values(want)), reversed(want)} {
		slices.SortFunc(got, func(a, b string) int { return core.CompareVersions(b, a) })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("sorted by CompareVersions, the best first (-want +got):\n%s", diff)
		}
	}
	if got := slices.MaxFunc(want, core.CompareVersions); got != "v10" {
		t.Errorf("the best version is %q, want v10", got)
	}
}

func TestVersionsOfAnyLengthAreCompared(t *testing.T) {
	if core.CompareVersions("v100000000000000000000001", "v100000000000000000000000") <= 0 {
		t.Error("a number beyond 64 bits is not compared to its end")
	}
}

func FuzzCompareVersions(f *testing.F) {
	for _, a := range ordered() {
		f.Add(a, "v1beta1")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		got := core.CompareVersions(a, b)
		if core.CompareVersions(b, a) != -got || (got == 0) != (a == b) {
			t.Errorf("CompareVersions(%q, %q) = %d, and %d the other way round", a, b, got, core.CompareVersions(b, a))
		}
		if len(a) > 18 || len(b) > 18 {
			return // apimachinery's numbers end at 64 bits
		}
		// To apimachinery v1 and v01 are equal, and so come in any order.
		if want := version.CompareKubeAwareVersionStrings(a, b); want != 0 && (got > 0) != (want > 0) {
			t.Errorf("CompareVersions(%q, %q) = %d, apimachinery says %d", a, b, got, want)
		}
	})
}

func reversed(s []string) []string {
	s = slices.Clone(s)
	slices.Reverse(s)
	return s
}
