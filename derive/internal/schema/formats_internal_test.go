// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"context"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/operation"
	"k8s.io/apimachinery/pkg/api/validate"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// TestFormatsAreThoseOfKubernetes compares the patterns with the functions that API servers use, on random texts which
// are nearly right.
func TestFormatsAreThoseOfKubernetes(t *testing.T) {
	type check func(context.Context, operation.Operation, *field.Path, *string, *string) field.ErrorList
	for name, valid := range map[string]check{
		"k8s-short-name":                    validate.ShortName[string],
		"k8s-long-name":                     validate.LongName[string],
		"k8s-long-name-caseless":            validate.LongNameCaseless[string], //nolint:staticcheck // the marker is as deprecated as the function
		"k8s-uuid":                          validate.UUID[string],
		"k8s-label-value":                   validate.LabelValue[string],
		"k8s-path-segment-name":             validate.PathSegmentName[string],
		"k8s-resource-pool-name":            validate.ResourcePoolName[string],
		"k8s-resource-fully-qualified-name": validate.ResourceFullyQualifiedName[string],
	} {
		t.Run(name, func(t *testing.T) {
			f, err := formatOf(name)
			if err != nil {
				t.Fatal(err)
			}
			pattern := regexp.MustCompile(f.pattern)
			accepted := 0
			for _, text := range nearly(name) {
				want := len(valid(t.Context(), operation.Operation{}, nil, &text, nil)) == 0
				if f.rule != "" && strings.Index(text, "/") > 63 {
					continue // the rule is about that
				}
				got := pattern.MatchString(text) && (f.maxLength == 0 || uint64(len(text)) <= f.maxLength)
				if got {
					accepted++
				}
				if got != want && strings.Count(text, "/") < 2 { // servers overlook what is behind a second slash
					t.Errorf("%q: accepted is %v, want %v", text, got, want)
				}
			}
			if accepted < 20 {
				t.Errorf("%d texts were accepted, which tests too little", accepted)
			}
		})
	}
}

// nearly returns many short texts of the letters that matter, and some that are as long as may be.
func nearly(name string) []string {
	r := rand.New(rand.NewPCG(3, 4))
	letters := "aA0-._/%"
	var texts []string
	for range 20_000 {
		b := make([]byte, r.IntN(7))
		for i := range b {
			b[i] = letters[r.IntN(len(letters))]
		}
		texts = append(texts, string(b))
	}
	for _, n := range []int{62, 63, 64, 252, 253, 254} {
		texts = append(texts, strings.Repeat("a", n), strings.Repeat("a.", n/2)+"a", strings.Repeat("a", n)+"/a", "a/"+strings.Repeat("a", n))
	}
	for _, n := range []int{31, 32, 33} {
		texts = append(texts, "a/"+strings.Repeat("a", n))
	}
	if name == "k8s-uuid" {
		const uuid = "123e4567-e89b-12d3-a456-426614174000"
		for i := range uuid {
			for _, c := range "0aAfFg-" {
				texts = append(texts, uuid[:i]+string(c)+uuid[i+1:])
			}
		}
	}
	return texts
}
