// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package generate_test

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/kube-go/sdk/derive/generate"
	"github.com/kube-go/sdk/derive/validation"
)

// Samples pass the JSON Schema of their kind, and objects that break a rule fail it, unless JSON Schema has no word for
// the rule.
func TestSchemasRefuseWhatAServerRefuses(t *testing.T) {
	refused := 0
	for _, name := range []string{"zoo", "document", "written", "beasts"} {
		dir := filepath.Join("testdata", name)
		made := func(fn func(context.Context, []string, *generate.Options) (*generate.Files, error)) []generate.File {
			t.Helper()
			files, err := fn(t.Context(), []string{"./..."}, &generate.Options{Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			return files.Files
		}
		crd := &unstructured.Unstructured{Object: object(t, made(generate.CRDs)[0].Content)}
		for _, f := range made(generate.Schemas) {
			s := compiled(t, f)
			version := strings.TrimSuffix(filepath.Base(f.Path)[strings.LastIndexByte(filepath.Base(f.Path), '_')+1:], ".json")
			v, err := validation.New(crd, version, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, full := range []bool{false, true} {
				sample, err := v.Sample(full)
				if err != nil {
					t.Fatal(err)
				}
				if err := s.Validate(reread(t, sample)); err != nil {
					t.Errorf("%s: a sample is refused: %v", f.Path, err)
				}
				for m := range v.Mutations(sample) {
					if m.Object == nil || m.Update || !sayable(m.Rule) {
						continue
					}
					refused++
					if s.Validate(reread(t, m.Object)) == nil {
						t.Errorf("%s: an object that breaks %s is not refused: %s", f.Path, m.Rule, m.Cause.Message)
					}
				}
			}
		}
	}
	if refused < 50 {
		t.Errorf("only %d objects were refused", refused)
	}
}

// sayable reports whether JSON Schema has words for a rule.
func sayable(rule string) bool {
	return !strings.Contains(rule, "x-kubernetes-validations") && !strings.Contains(rule, "x-kubernetes-list-map-keys")
}

// compiled makes a validator of a JSON Schema.
func compiled(t *testing.T, f generate.File) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(f.Content))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource(f.Path, doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(f.Path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// object reads an object from YAML.
func object(t *testing.T, text []byte) map[string]any {
	t.Helper()
	body, err := yaml.YAMLToJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	u := map[string]any{}
	if err := yaml.Unmarshal(body, &u); err != nil {
		t.Fatal(err)
	}
	return u
}

// reread returns an object as the validator wants it.
func reread(t *testing.T, u *unstructured.Unstructured) any {
	t.Helper()
	body, err := u.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return v
}
