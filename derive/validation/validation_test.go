// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package validation_test

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/derive/generate/testdata/document"
	"github.com/kube-go/sdk/derive/validation"
)

// widget returns the definition of a kind. The schema of its spec is YAML.
func widget(tb testing.TB, spec string) *unstructured.Unstructured {
	tb.Helper()
	crd := &unstructured.Unstructured{}
	text := `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: ` + spec + `
          status: {type: object, properties: {phase: {type: string, enum: [A, B]}}}
`
	if err := yaml.Unmarshal([]byte(text), &crd.Object); err != nil {
		tb.Fatal(err)
	}
	return crd
}

func validator(tb testing.TB, spec string, o *validation.Options) *validation.Validator {
	tb.Helper()
	v, err := validation.New(widget(tb, spec), "v1", o)
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

func TestTypedObjects(t *testing.T) {
	v, err := validation.For[document.Document](nil)
	if err != nil {
		t.Fatal(err)
	}
	doc := document.NewDocument("prod", "a", document.DocumentSpec{Title: "Short"})
	if err := v.Create(doc); err != nil {
		t.Errorf("Create = %v", err)
	}
	long := doc.DeepCopy()
	long.Spec.Title = strings.Repeat("long", 21)
	err = v.Update(long, doc)
	if !errors.Is(err, core.ErrInvalid) {
		t.Fatalf("Update to a title that is too long = %v", err)
	}
	const want = `invalid: server said: Document.docs.example.com "a" is invalid: spec.title: Too long: may not be more than 80 bytes`
	if got := err.Error(); got != want {
		t.Errorf("Update = %q, want %q", got, want)
	}
	if cause, ok := core.CauseOf(err, metav1.CauseType("FieldValueTooLong")); !ok || cause.Field != "spec.title" {
		t.Errorf("cause = %v, %v", cause, ok)
	}
}

// ship is a kind without a generated definition.
type ship struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec struct {
		Name string `json:"name" jsonschema:"maxLength=3"`
	} `json:"spec"`
}

func (ship) KubeResource() core.Resource {
	return core.Resource{Group: "docs.example.com", Version: "v1", Kind: "Ship", Plural: "ships", Namespaced: true}
}

func TestKindWithoutADefinitionIsReflected(t *testing.T) {
	v, err := validation.For[ship](nil)
	if err != nil {
		t.Fatal(err)
	}
	obj := &ship{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "a"}}
	obj.Spec.Name = "Ann"
	if err := v.Create(obj); err != nil {
		t.Errorf("Create = %v", err)
	}
	obj.Spec.Name = "Anna"
	if err := v.Create(obj); !errors.Is(err, core.ErrInvalid) {
		t.Errorf("Create with a name that is too long = %v, want an invalid error", err)
	}
}

// TestUnknownFieldsOfMetadataAreErrors promises that metadata is decoded strictly at every depth: in nested fields,
// with empty values, and in embedded resources.
func TestUnknownFieldsOfMetadataAreErrors(t *testing.T) {
	const schema = `{type: object, properties: {templates: {type: array, items: {type: object,
		x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}}}}`
	v := validator(t, schema, nil)
	ignoring := validator(t, schema, &validation.Options{FieldValidation: metav1.FieldValidationIgnore})
	for _, tt := range []struct{ name, in, want string }{
		{"a field", `metadata: {name: x, lables: {a: b}}`, `unknown field "metadata.lables"`},
		{"an empty field", `metadata: {name: x, lables: {}}`, `unknown field "metadata.lables"`},
		{"a field in the wrong case", `metadata: {name: x, Labels: {a: b}}`, `unknown field "metadata.Labels"`},
		{
			"a field of an owner",
			`metadata: {name: x, ownerReferences: [{apiVersion: v1, kind: Pod, name: x, uid: "1", controler: true}]}`,
			`unknown field "metadata.ownerReferences[0].controler"`,
		},
		{
			"a field of an embedded resource",
			"zz: 1\nmetadata: {name: x}\nspec: {templates: [{apiVersion: v1, kind: Pod, metadata: {lables: {a: b}}}]}",
			`unknown field "zz", unknown field "spec.templates[0].metadata.lables"`,
		},
	} {
		err := v.Create([]byte(tt.in))
		if want := "strict decoding error: " + tt.want; err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: Create = %v, want %s", tt.name, err, want)
		}
		if err := ignoring.Create([]byte(tt.in)); err != nil {
			t.Errorf("%s: Create = %v, want nil with FieldValidation Ignore", tt.name, err)
		}
	}
}

func TestCreateDecodesAllRepresentations(t *testing.T) {
	v := validator(t, `{type: object, required: [a], properties: {a: {type: string, maxLength: 3}}}`, nil)
	const head = `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"x"},`
	tests := []struct {
		name    string
		in      any
		wantErr string
	}{
		{"JSON", []byte(head + `"spec":{"a":"b"}}`), ""},
		{"YAML", []byte("metadata: {name: x}\nspec: {a: b}\n"), ""},
		{"a map without a type", map[string]any{"metadata": map[string]any{"name": "x"}, "spec": map[string]any{"a": "b"}}, ""},
		{"nil", nil, "object is nil"},
		{"JSON null", []byte("null"), "null"},
		{"truncated JSON", []byte("{"), "cannot be handled as a Widget"},
		{"YAML with a duplicate field", []byte("metadata: {name: x}\nspec: {a: b, a: c}\n"), `already set in map`},
		{"JSON with a duplicate field", []byte(head + `"spec":{"a":"b","a":"c"}}`), `strict decoding error: duplicate field "spec.a"`},
		{"unknown fields", []byte(head + `"zz":1,"spec":{"a":"b","c":{"d":1}}}`), `unknown field "spec.c", unknown field "zz"`},
		{"an unknown field of metadata", []byte(`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"x","title":"y"},"spec":{"a":"b"}}`), `unknown field "metadata.title"`},
		{"metadata of another type", map[string]any{"metadata": "x"}, "metadata: Invalid value"},
		{"another kind", []byte(`{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"x"},"spec":{"a":"b"}}`), "must be Widget"},
		{"another version", []byte(`{"apiVersion":"example.com/v2","kind":"Widget","metadata":{"name":"x"},"spec":{"a":"b"}}`), "must be example.com/v1"},
		{"no name", []byte(`{"spec":{"a":"b"}}`), "name or generateName is required"},
		{"a value that JSON can't represent", map[string]any{"spec": make(chan int)}, "cannot be handled"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := v.Create(tt.in)
			if tt.wantErr == "" {
				if err != nil {
					t.Errorf("Create = %v", err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.wantErr) {
				t.Errorf("Create = %v, want an error with %q", err, tt.wantErr)
			}
		})
	}
}

func TestUnknownFieldsAreDroppedUnlessStrict(t *testing.T) {
	const spec = `{type: object, properties: {a: {type: string}}}`
	obj := map[string]any{"metadata": map[string]any{"name": "x"}, "spec": map[string]any{"b": int64(1)}}
	for _, mode := range []string{metav1.FieldValidationWarn, metav1.FieldValidationIgnore} {
		if err := validator(t, spec, &validation.Options{FieldValidation: mode}).Create(obj); err != nil {
			t.Errorf("with %s: %v", mode, err)
		}
	}
	if _, ok := obj["spec"].(map[string]any)["b"]; !ok {
		t.Error("Create has changed the object")
	}
	if _, err := validation.New(widget(t, spec), "v1", &validation.Options{FieldValidation: "Sometimes"}); err == nil || !strings.Contains(err.Error(), "FieldValidation") {
		t.Errorf("New with another FieldValidation = %v", err)
	}
}

func TestNewRejectsInvalidDefinitions(t *testing.T) {
	_, err := validation.New(widget(t, `{type: string, pattern: "("}`), "v1", nil)
	bad, ok := errors.AsType[*validation.DefinitionError](err)
	if !ok || len(bad.Problems) != 1 || !strings.Contains(err.Error(), "widgets.example.com: spec.validation.openAPIV3Schema.properties[spec].pattern: ") {
		t.Errorf("New with a bad pattern = %v", err)
	}
	if _, err := validation.New(widget(t, `{type: string}`), "v2", nil); err == nil || !strings.Contains(err.Error(), `no version "v2"`) {
		t.Errorf("New of a missing version = %v", err)
	}
}

func TestCheckOfOtherObjects(t *testing.T) {
	tests := []struct {
		name string
		in   map[string]any
		want string
	}{
		{"an empty object", map[string]any{}, `kind: is  of "", must be CustomResourceDefinition of apiextensions.k8s.io/v1`},
		{"the old version", map[string]any{"apiVersion": "apiextensions.k8s.io/v1beta1", "kind": "CustomResourceDefinition"}, "must be CustomResourceDefinition of apiextensions.k8s.io/v1"},
		{"a field of another type", map[string]any{"spec": map[string]any{"versions": "v1"}}, "decode the definition"},
		{"a value that JSON can't represent", map[string]any{"spec": func() {}}, "encode the definition"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			problems := validation.Check(&unstructured.Unstructured{Object: tt.in})
			if len(problems) == 0 || !strings.Contains(problems[0].String(), tt.want) {
				t.Errorf("Check = %v, want %q", problems, tt.want)
			}
		})
	}
}

func TestCheckOfOversizedDefinition(t *testing.T) {
	crd := widget(t, `{type: object, description: `+strings.Repeat("x", 2<<20)+`}`)
	problems := validation.Check(crd)
	if len(problems) != 1 || !strings.Contains(problems[0].String(), "shorten its descriptions") {
		t.Errorf("Check = %.200v", problems)
	}
}

func TestDefaultAndPrune(t *testing.T) {
	v := validator(t, `{type: object, properties: {a: {type: string, default: x}, b: {type: string}, c: {type: string, nullable: true, default: z}, list: {type: array, items: {type: object, properties: {d: {type: integer, default: 5}}}}}}`, nil)
	obj := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"a": nil, "b": nil, "c": nil, "zz": int64(1), "list": []any{map[string]any{}, map[string]any{"d": int64(1), "e": int64(2)}},
	}}}
	if diff := cmp.Diff([]string{"spec.list[1].e", "spec.zz"}, v.Prune(obj)); diff != "" {
		t.Errorf("Prune: -want +got:\n%s", diff)
	}
	v.Default(obj)
	want := map[string]any{"spec": map[string]any{
		"a": "x", "c": nil, "list": []any{map[string]any{"d": int64(5)}, map[string]any{"d": int64(1)}},
	}}
	if diff := cmp.Diff(want, obj.Object); diff != "" {
		t.Errorf("Default: -want +got:\n%s", diff)
	}
}

func TestStatus(t *testing.T) {
	v := validator(t, `{type: object}`, nil)
	old := map[string]any{"metadata": map[string]any{"name": "x"}, "spec": map[string]any{}}
	next := map[string]any{"metadata": map[string]any{"name": "x"}, "status": map[string]any{"phase": "C"}}
	if err := v.Create(next); err != nil {
		t.Errorf("Create does not ignore the status: %v", err)
	}
	if err := v.Update(next, old); err != nil {
		t.Errorf("Update does not ignore the status: %v", err)
	}
	if err := v.UpdateStatus(next, old); !errors.Is(err, core.ErrInvalid) {
		t.Errorf("UpdateStatus = %v", err)
	}
	crd := widget(t, `{type: object}`)
	delete(crd.Object["spec"].(map[string]any)["versions"].([]any)[0].(map[string]any), "subresources")
	v, err := validation.New(crd, "v1", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := v.UpdateStatus(next, old); !errors.Is(err, core.ErrBadRequest) {
		t.Errorf("UpdateStatus of a kind without the subresource = %v", err)
	}
	if err := v.Create(next); !errors.Is(err, core.ErrInvalid) {
		t.Errorf("Create of a kind without the status subresource = %v", err)
	}
}

// TestBudget checks that expensive rules stay within the cost budget.
func TestBudget(t *testing.T) {
	costly := `{type: array, maxItems: 1000, items: {type: string, maxLength: 50, x-kubernetes-validations: [{rule: "self.matches('^[a-z]+$')"}]}}`
	v := validator(t, `{type: object, properties: {a: `+costly+`, b: {type: string, maxLength: 100000, x-kubernetes-validations: [{rule: "self.matches('^(a|b|c|d|e|f|g|h|i|j|k|l|m|n|o|p|q|r|s|t|u|v|w|x|y|z)+$')"}]}}}`, nil)
	with := func(spec map[string]any) error {
		return v.Create(map[string]any{"metadata": map[string]any{"name": "x"}, "spec": spec})
	}
	var many []any
	for range 1000 {
		many = append(many, strings.Repeat("a", 50))
	}
	if err := with(map[string]any{"a": many}); err != nil {
		t.Errorf("Create with 1000 items = %v", err)
	}
	if err := with(map[string]any{"b": strings.Repeat("a", 100000)}); err != nil {
		t.Errorf("Create with a long string = %v", err)
	}
}

func TestConcurrency(t *testing.T) {
	v := validator(t, `{type: object, properties: {a: {type: string, pattern: "^a", maxLength: 5, x-kubernetes-validations: [{rule: "self != 'aa'"}]}}}`, nil)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for _, a := range []string{"ab", "aa", "b"} {
				err := v.Create(map[string]any{"metadata": map[string]any{"name": "x"}, "spec": map[string]any{"a": a}})
				if (err == nil) != (a == "ab") {
					t.Errorf("Create of %s = %v", a, err)
				}
			}
			if _, err := v.Sample(true); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}
