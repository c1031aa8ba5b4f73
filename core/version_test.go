// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package core_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-go/sdk/core"
)

func TestVersionsAreOrderedByStabilityThenByNumber(t *testing.T) {
	want := []string{ // the order of the Kubernetes documentation
		"v10", "v2", "v1", "v11beta2", "v10beta3", "v3beta1", "v12alpha1", "v11alpha2", "foo1", "foo10", "foo2",
	}
	for _, got := range [][]string{slices.Sorted(slices.Values(want)), reversed(want)} {
		slices.SortFunc(got, func(a, b string) int { return core.CompareVersions(b, a) })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("sorted by CompareVersions, the most stable first (-want +got):\n%s", diff)
		}
	}
	if got := slices.MaxFunc(want, core.CompareVersions); got != "v10" {
		t.Errorf("the most stable version is %q, want v10", got)
	}
}

func reversed(s []string) []string {
	s = slices.Clone(s)
	slices.Reverse(s)
	return s
}
