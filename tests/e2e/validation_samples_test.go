// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/derive/validation"
	"github.com/kube-go/sdk/kube"
)

// samplesGroup keeps the kinds apart from those of other tests.
const samplesGroup = "samples.checks.example.com"

// unbroken are the rules of which no object is found that breaks them, with the reason.
func unbroken() map[string]string {
	return map[string]string{
		"Change.x-kubernetes-validations[0]":        "it is about the status, which samples don't have",
		"Declared.spec.x-kubernetes-validations[1]": "it is about a field that the old object does not have, and samples have all",
	}
}

// TestSamples promises that the samples of a definition pass on the server, and that one which breaks a rule is refused
// with what the rule says.
func TestSamples(t *testing.T) {
	c := connect(t, nil)
	ns := newNamespace(t, c)
	crds := sampleDefinitions(t)
	define(t, c, crds)
	enforced := enforcementOf(t, c)
	passed, refused := 0, 0
	never := unbroken()
	for _, crd := range crds {
		spec := crd.Object["spec"].(map[string]any)
		names := spec["names"].(map[string]any)
		for _, v := range spec["versions"].([]any) {
			version := v.(map[string]any)["name"].(string)
			if v.(map[string]any)["served"] == false {
				continue
			}
			res := kube.Resource{
				Group: samplesGroup, Version: version, Kind: names["kind"].(string), Plural: names["plural"].(string),
				Namespaced: spec["scope"] == "Namespaced",
			}
			place := ns
			if !res.Namespaced {
				place = ""
			}
			t.Run(res.Kind+" "+version, func(t *testing.T) {
				s := &sampling{kube.Dynamic(c, res).In(place), mustValidator(t, enforced.of(crd), version), never, enforced.values}
				full := s.passes(t)
				passed += 2
				refused += s.refuses(t, full)
			})
		}
	}
	if passed < 20 || refused < 550 {
		t.Errorf("%d samples pass, and %d are refused", passed, refused)
	}
	if len(never) > 0 {
		t.Errorf("said to be unbroken, but not so: %v", slices.Sorted(maps.Keys(never)))
	}
}

// sampleDefinitions are the definitions of this repository, and those of the tables, in a group of their own.
func sampleDefinitions(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	paths, err := filepath.Glob("../../derive/generate/testdata/*/crds/*.yaml")
	if err != nil || len(paths) < 4 {
		t.Fatalf("definitions = %v, %v", paths, err)
	}
	var crds []*unstructured.Unstructured
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		crd := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(text, &crd.Object); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		crds = append(crds, crd)
	}
	var kinds []kindCase
	readTable(t, "objects.yaml", &kinds)
	for _, k := range kinds {
		crds = append(crds, k.definition(k.Spec))
	}
	for _, crd := range crds {
		spec := crd.Object["spec"].(map[string]any)
		spec["group"] = samplesGroup
		crd.SetName(spec["names"].(map[string]any)["plural"].(string) + "." + samplesGroup)
	}
	return crds
}

func mustValidator(t *testing.T, crd *unstructured.Unstructured, version string) *validation.Validator {
	t.Helper()
	v, err := validation.New(crd, version, nil)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// sampling is a kind with what validates its objects.
type sampling struct {
	api   *kube.API[unstructured.Unstructured]
	v     *validation.Validator
	never map[string]string

	values bool // whether the server shows the values that break rules
}

// passes creates the samples, and returns the full one.
func (s *sampling) passes(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	var last *unstructured.Unstructured
	for _, full := range []bool{false, true} {
		obj, err := s.v.Sample(full)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.api.Create(limit(t), obj, &kube.CreateOptions{DryRun: true, FieldValidation: request.ValidationStrict}); err != nil {
			t.Fatalf("the server refuses the sample %v: %v", obj.Object, err)
		}
		last = obj
	}
	return last
}

// refuses creates an object for each rule, and returns how many there are.
func (s *sampling) refuses(t *testing.T, full *unstructured.Unstructured) int {
	t.Helper()
	stored, err := s.api.Create(limit(t), full, nil)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for m := range s.v.Mutations(full) {
		rule := full.GetKind() + "." + m.Rule
		if m.Object == nil {
			if s.never[rule] == "" {
				t.Errorf("%s: no object is found that breaks it", rule)
			}
			delete(s.never, rule)
			continue
		}
		n++
		var err error
		if m.Update {
			m.Object.SetResourceVersion(stored.GetResourceVersion())
			_, err = s.api.Update(limit(t), m.Object, &kube.UpdateOptions{DryRun: true})
		} else {
			_, err = s.api.Create(limit(t), m.Object, &kube.CreateOptions{DryRun: true})
		}
		if !slices.ContainsFunc(causesOf(err), func(c metav1.StatusCause) bool { return sameCause(c, m.Cause, s.values) }) {
			t.Errorf("%s: the server says %v, want %v", rule, err, m.Cause)
		}
	}
	return n
}

func causesOf(err error) []metav1.StatusCause {
	status, ok := errors.AsType[*kube.StatusError](err)
	if !ok {
		return nil
	}
	return status.Causes()
}
