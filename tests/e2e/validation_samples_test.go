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

	"github.com/kube-go/sdk/derive/validation"
	"github.com/kube-go/sdk/kube"
)

// samplesGroup is the group of the kinds. No other test uses it.
const samplesGroup = "samples.checks.example.com"

// unbroken returns the rules for which no object is found that breaks them, with the reason.
func unbroken() map[string]string {
	return map[string]string{
		"Change.x-kubernetes-validations[0]":        "the rule is about the status, which samples don't have",
		"Declared.spec.x-kubernetes-validations[2]": "the rule is about an added field, but samples have all fields",
		"Declared.spec.x-kubernetes-validations[5]": "the rule is about an added field, but samples have all fields",
	}
}

// TestSamplesMatchTheRules checks that the server accepts the samples of a definition, and rejects an object that
// breaks a rule with the cause that is expected for that rule.
func TestSamplesMatchTheRules(t *testing.T) {
	t.Parallel()
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
				v := mustValidator(t, enforced.of(crd), version)
				s := &sampling{kube.Dynamic(c, res).In(place), v, never}
				full := s.passes(t)
				passed += 2
				refused += s.refuses(t, full)
			})
		}
	}
	if passed < 20 || refused < 550 {
		t.Errorf("%d samples are accepted and %d objects are rejected, want at least 20 and 550", passed, refused)
	}
	if len(never) > 0 {
		t.Errorf("unbroken lists rules that objects break or that do not exist: %v", slices.Sorted(maps.Keys(never)))
	}
}

// sampleDefinitions returns the definitions of this repository and those of the tables, in samplesGroup.
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
		names := spec["names"].(map[string]any)
		crd.SetName(names["plural"].(string) + "." + samplesGroup)
		delete(names, "categories") // other tests list the category all, and this kind disappears
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

// sampling is a kind with the validator of its objects.
type sampling struct {
	api   *kube.API[unstructured.Unstructured]
	v     *validation.Validator
	never map[string]string
}

// passes checks that the server accepts the samples, and returns the full one.
func (s *sampling) passes(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	var last *unstructured.Unstructured
	for _, full := range []bool{false, true} {
		obj, err := s.v.Sample(full)
		if err != nil {
			t.Fatal(err)
		}
		strict := &kube.CreateOptions{DryRun: true, FieldValidation: metav1.FieldValidationStrict}
		if _, err := s.api.Create(limit(t), obj, strict); err != nil {
			t.Fatalf("the server rejects the sample %v: %v", obj.Object, err)
		}
		last = obj
	}
	return last
}

// refuses checks that the server rejects an object for each rule, and returns the number of these objects.
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
				t.Errorf("%s: no object is found that breaks the rule", rule)
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
		if !slices.Contains(causesOf(err), m.Cause) {
			t.Errorf("%s: error = %v, want the cause %v", rule, err, m.Cause)
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
