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

// thing returns a valid definition. The plural is derived from the kind, which keeps tests apart.
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

// ofSpec returns the schema of objects with a spec.
func ofSpec(spec any) map[string]any {
	return map[string]any{"type": "object", "properties": map[string]any{"spec": spec}}
}

// merge applies a JSON merge patch to a map.
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

// define creates definitions, waits until their kinds can be used, and deletes the definitions when the test ends.
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
			return errors.New("the definition is not established")
		})
	}
}

// record makes the tests write the responses of the server to files that the unit tests of the module derive read.
var record = flag.Bool("record", false, "write the responses of the server to derive/validation/testdata")

// recorded is a file of verdicts.
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
		t.Fatalf("the unit tests expect the responses of the newest version, not of %s: unset %s to record",
			version, versionEnv)
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

// definitionRow is a definition with the verdict of the server.
type definitionRow struct {
	Name       string         `json:"name"`
	Definition map[string]any `json:"definition"`
	Verdict    *verdict       `json:"answer,omitempty"`
	Differs    string         `json:"differs,omitempty"`
}

// objectRow is an object, or an update of one, with the verdict of the server. The definition of its kind is in an
// earlier row.
type objectRow struct {
	Definition map[string]any `json:"definition,omitempty"`

	Verb    string         `json:"verb,omitempty"` // create, update or status
	Object  map[string]any `json:"object,omitempty"`
	Old     map[string]any `json:"old,omitempty"`
	Verdict *verdict       `json:"answer,omitempty"`
	Differs string         `json:"differs,omitempty"`
}

// verdict is the result of a server or of a validator, in a form that can be compared.
type verdict struct {
	Reason metav1.StatusReason  `json:"reason"`
	Causes []metav1.StatusCause `json:"causes,omitempty"`
	Text   string               `json:"text,omitempty"` // set without causes
}

// withoutMessages returns a copy without the messages of the causes.
func (v verdict) withoutMessages() verdict {
	v.Causes = slices.Clone(v.Causes)
	for i := range v.Causes {
		v.Causes[i].Message = ""
	}
	return v
}

// verdictOf returns the verdict in an error, or the zero value for nil.
func verdictOf(t *testing.T, err error) verdict {
	t.Helper()
	if err == nil {
		return verdict{}
	}
	status, ok := errors.AsType[*kube.StatusError](err)
	if !ok {
		t.Fatalf("the error is not a StatusError: %v", err)
	}
	v := verdict{Reason: status.Status.Reason, Causes: slices.Clone(status.Causes())}
	if len(v.Causes) == 0 {
		v.Text = status.Status.Message
	}
	v.tidy()
	return v
}

// selfType matches a name that servers generate for each definition.
var selfType = regexp.MustCompile(`selfType\d*`)

// shape returns a copy without the text and the messages of the causes.
func (v verdict) shape() verdict {
	v = v.withoutMessages()
	v.Text = ""
	return v
}

// tidy sorts the causes and removes the numbers of generated names.
func (v *verdict) tidy() {
	for i := range v.Causes {
		v.Causes[i].Message = selfType.ReplaceAllString(v.Causes[i].Message, "selfType")
	}
	slices.SortFunc(v.Causes, func(x, y metav1.StatusCause) int {
		return cmp.Or(cmp.Compare(x.Field, y.Field), cmp.Compare(x.Type, y.Type), cmp.Compare(x.Message, y.Message))
	})
}

// compareVerdicts compares the verdict of the server with ours. If differs gives a reason, the messages must differ and
// everything else must be equal.
func compareVerdicts(t *testing.T, server, ours verdict, differs string) {
	t.Helper()
	diff := gocmp.Diff(server, ours)
	switch {
	case differs == "" && diff != "":
		t.Errorf("-server +ours:\n%s", diff)
	case differs != "" && diff == "":
		t.Errorf("the messages are equal, but the table says that they differ: %s", differs)
	case differs != "":
		if diff := gocmp.Diff(server.shape(), ours.shape()); diff != "" {
			t.Errorf("without messages, -server +ours:\n%s", diff)
		}
	}
}
