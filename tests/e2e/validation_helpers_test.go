// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/kube-go/sdk/kube"
)

// readTable decodes a file of testdata/validation.
func readTable(t *testing.T, name string, table any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "validation", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, table); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// thing is a definition that is fine. A plural of its own keeps tests apart.
func thing(group, kind string, schema map[string]any) *unstructured.Unstructured {
	plural := strings.ToLower(kind) + "s"
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1",
		"kind":       "CustomResourceDefinition",
		"metadata":   map[string]any{"name": plural + "." + group},
		"spec": map[string]any{
			"group": group,
			"scope": "Namespaced",
			"names": map[string]any{"kind": kind, "plural": plural},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": runtime.DeepCopyJSONValue(schema)},
			}},
		},
	}}
}

// ofSpec is the schema of objects with a spec.
func ofSpec(spec any) map[string]any {
	return map[string]any{"type": "object", "properties": map[string]any{"spec": spec}}
}

// merge patches a map as a JSON merge patch does.
func merge(m, patch map[string]any) {
	for key, v := range patch {
		sub, isMap := v.(map[string]any)
		below, ok := m[key].(map[string]any)
		switch {
		case v == nil:
			delete(m, key)
		case isMap && ok:
			merge(below, sub)
		default:
			m[key] = v
		}
	}
}

// define creates definitions, and waits until their kinds can be used. They go when the test ends.
func define(t *testing.T, c *kube.Client, crds []*unstructured.Unstructured) {
	t.Helper()
	api := kube.Dynamic(c, kube.CRDResource())
	for _, crd := range crds {
		if _, err := api.Create(limit(t), crd.DeepCopy(), nil); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := api.Delete(context.WithoutCancel(t.Context()), crd.GetName(), nil); err != nil {
				t.Error(err)
			}
		})
	}
	for _, crd := range crds {
		eventually(t, crd.GetName(), func(ctx context.Context) error {
			got, err := api.Get(ctx, crd.GetName(), nil)
			if err != nil {
				return err
			}
			conditions, _, _ := unstructured.NestedSlice(got.Object, "status", "conditions")
			for _, c := range conditions {
				if c, ok := c.(map[string]any); ok && c["type"] == "Established" && c["status"] == "True" {
					return nil
				}
			}
			return errors.New("it is not established")
		})
	}
}

// record writes what the server answers to where the unit tests of the module derive find it.
var record = flag.Bool("record", false, "write what the server answers to derive/validation/testdata")

// recorded is a file of answers.
type recorded[T any] struct {
	name string
	rows []T
}

func (r *recorded[T]) add(row T) { r.rows = append(r.rows, row) }

// write writes the file, a row on each line.
func (r *recorded[T]) write(t *testing.T) {
	t.Helper()
	if !*record || t.Failed() {
		return
	}
	if version := os.Getenv(versionEnv); version != "" {
		t.Fatalf("the unit tests are about the newest version, and not about %s: unset %s to record", version, versionEnv)
	}
	var b bytes.Buffer
	for _, row := range r.rows {
		line, err := json.Marshal(row)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(line, '\n'))
	}
	if err := os.WriteFile(filepath.Join("../../derive/validation/testdata", r.name), b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// definitionRow is a definition with what the server says of it.
type definitionRow struct {
	Name       string         `json:"name"`
	Definition map[string]any `json:"definition"`
	Answer     *answer        `json:"answer,omitempty"`
	Differs    string         `json:"differs,omitempty"`
}

// objectRow is an object, or a change of one, with what the server says of it. The definition of its kind is in a row
// before it.
type objectRow struct {
	Definition map[string]any `json:"definition,omitempty"`

	Verb    string         `json:"verb,omitempty"` // create, update or status
	Object  map[string]any `json:"object,omitempty"`
	Old     map[string]any `json:"old,omitempty"`
	Answer  *answer        `json:"answer,omitempty"`
	Differs string         `json:"differs,omitempty"`
}

// answer is what a server or a validator says, so that two can be compared.
type answer struct {
	Reason metav1.StatusReason  `json:"reason"`
	Causes []metav1.StatusCause `json:"causes,omitempty"`
	Text   string               `json:"text,omitempty"` // where there are no causes
}

// wordless returns an answer without the messages of its causes.
func (a answer) wordless() answer {
	a.Causes = slices.Clone(a.Causes)
	for i := range a.Causes {
		a.Causes[i].Message = ""
	}
	return a
}

// answerOf returns the answer in an error; nothing for none.
func answerOf(t *testing.T, err error) answer {
	t.Helper()
	if err == nil {
		return answer{}
	}
	status, ok := errors.AsType[*kube.StatusError](err)
	if !ok {
		t.Fatalf("not the answer of a server: %v", err)
	}
	a := answer{Reason: status.Status.Reason, Causes: slices.Clone(status.Causes())}
	if len(a.Causes) == 0 {
		a.Text = status.Status.Message
	}
	a.tidy()
	return a
}

// selfType is a name that servers make up for each definition.
var selfType = regexp.MustCompile(`selfType\d*`)

// shape is an answer without its texts.
func (a answer) shape() answer {
	a.Causes = slices.Clone(a.Causes)
	for i := range a.Causes {
		a.Causes[i].Message = ""
	}
	a.Text = ""
	return a
}

func (a *answer) tidy() {
	for i := range a.Causes {
		a.Causes[i].Message = selfType.ReplaceAllString(a.Causes[i].Message, "selfType")
	}
	slices.SortFunc(a.Causes, func(x, y metav1.StatusCause) int {
		return cmp.Or(cmp.Compare(x.Field, y.Field), cmp.Compare(x.Type, y.Type), cmp.Compare(x.Message, y.Message))
	})
}

// compareAnswers compares what the server says with what we say. With a reason why the texts differ, they must, and all
// else must not.
func compareAnswers(t *testing.T, server, ours answer, differs string) {
	t.Helper()
	diff := gocmp.Diff(server, ours)
	switch {
	case differs == "" && diff != "":
		t.Errorf("-server +ours:\n%s", diff)
	case differs != "" && diff == "":
		t.Errorf("the texts are the same, but the table says that they differ: %s", differs)
	case differs != "":
		if diff := gocmp.Diff(server.shape(), ours.shape()); diff != "" {
			t.Errorf("without texts, -server +ours:\n%s", diff)
		}
	}
}
