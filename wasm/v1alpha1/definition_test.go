// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/wasm/v1alpha1"
)

// property is the part of a schema that concerns strings.
type property struct {
	Properties map[string]property
	AllOf      []property
	Pattern    string
	MaxLength  int
}

// accepts reports whether a server accepts a string.
func (p property) accepts(s string) bool {
	if slices.ContainsFunc(p.AllOf, func(of property) bool { return !of.accepts(s) }) {
		return false
	}
	return regexp.MustCompile(p.Pattern).MatchString(s) && (p.MaxLength == 0 || utf8.RuneCountInString(s) <= p.MaxLength)
}

// limits returns the schemas of spec.limits.
func limits(t *testing.T) map[string]property {
	t.Helper()
	var crd struct {
		Spec struct {
			Versions []struct {
				Schema struct{ OpenAPIV3Schema property }
			}
		}
	}
	if err := json.Unmarshal((*v1alpha1.WasmController)(nil).KubeCRD(), &crd); err != nil {
		t.Fatal(err)
	}
	return crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["limits"].Properties
}

// TestServersRefuseLimitsThatCannotBeDecoded has values that the operator can't decode, and values that it can.
func TestServersRefuseLimitsThatCannotBeDecoded(t *testing.T) {
	quantities := map[string]bool{
		"1": true, "250m": true, "64Mi": true, "1.5Gi": true, ".5": true, "2.": true, "99999999999999999999Ei": true,
		"": false, "-1": false, "1e9": false, "1E9": false, "1e999999999": false, "1e-999999999": false, "1Gb": false,
		"9223372036854775808e999999999": false, "100000000000000000000000000000000000": false,
	}
	durations := map[string]bool{
		"10s": true, "1m30s": true, "0.5s": true, "500ms": true, "5m0s": true, "1m40.123456789s": true,
		"7µs": true, "7μs": true, "999999h999999h99999h": true,
		"": false, "0": false, "30": false, "forever": false, "-1s": false, "1 m": false, "1d": false, "s": false,
		".s": false, "9999999h": false, "99999999999999999999s": false, "999999h999999h999999h": false,
	}
	for field, values := range map[string]map[string]bool{
		"memory": quantities, "cacheMemory": quantities, "cpu": quantities, "callTimeout": durations,
	} {
		schema := limits(t)[field]
		for value, want := range values {
			if got := schema.accepts(value); got != want {
				t.Errorf("spec.limits.%s: %q is accepted: %v, want %v", field, value, got, want)
			}
			obj := new(v1alpha1.WasmController)
			err := wire.UnmarshalJSON(fmt.Appendf(nil, `{"spec":{"limits":{%q:%q}}}`, field, value), obj)
			if want && err != nil {
				t.Errorf("spec.limits.%s: %q is accepted, but %v", field, value, err)
			}
		}
	}
}
