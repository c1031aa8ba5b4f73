// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kube-go/sdk/derive/validation"
	"github.com/kube-go/sdk/kube"
)

// kindCase is a kind in objects.yaml with its objects.
type kindCase struct {
	Kind   string         `json:"kind"`
	Spec   map[string]any `json:"spec,omitempty"`
	Root   map[string]any `json:"root,omitempty"`
	Status bool           `json:"status,omitempty"`
	Scale  map[string]any `json:"scale,omitempty"`
	Later  map[string]any `json:"later,omitempty"`

	Objects []objectCase `json:"objects"`
}

// objectCase is an object, or an update of one.
type objectCase struct {
	Spec     any            `json:"spec,omitempty"`
	Object   map[string]any `json:"object,omitempty"`
	Old      map[string]any `json:"old,omitempty"`
	StatusOf any            `json:"statusOf,omitempty"`
	Differs  string         `json:"differs,omitempty"` // why the messages differ; empty means that they must not
}

// objectsGroup is the group of the kinds. No other test uses it.
const objectsGroup = "objects.checks.example.com"

func (k kindCase) definition(spec map[string]any) *unstructured.Unstructured {
	schema := k.Root
	if schema == nil {
		schema = ofSpec(spec)
	}
	crd := thing(objectsGroup, k.Kind, schema)
	version := crd.Object["spec"].(map[string]any)["versions"].([]any)[0].(map[string]any)
	subresources := map[string]any{}
	if k.Status {
		subresources["status"] = map[string]any{}
	}
	if k.Scale != nil {
		subresources["scale"] = k.Scale
	}
	if len(subresources) > 0 {
		version["subresources"] = subresources
	}
	return crd
}

// object returns the object of a row as a client sends it.
func (o objectCase) object(kind, name string) *unstructured.Unstructured {
	content := map[string]any{"metadata": map[string]any{"name": name}}
	if o.Object != nil {
		maps.Copy(content, runtime.DeepCopyJSON(o.Object))
	} else {
		content["spec"] = runtime.DeepCopyJSONValue(o.Spec)
	}
	content["apiVersion"], content["kind"] = objectsGroup+"/v1", kind
	return &unstructured.Unstructured{Object: content}
}

// TestValidationOfObjectsMatchesServer checks that a validation.Validator and the server agree on objects and updates:
// both accept them, or both report the same causes.
func TestValidationOfObjectsMatchesServer(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	ns := newNamespace(t, c)
	var kinds []kindCase
	readTable(t, "objects.yaml", &kinds)
	enforced := enforcementOf(t, c)
	var rows []*rowOfKind
	var crds []*unstructured.Unstructured
	for _, k := range kinds {
		crd := k.definition(k.Spec)
		crds = append(crds, crd)
		res := kube.Resource{
			Group: objectsGroup, Version: "v1", Kind: k.Kind, Namespaced: true,
			Plural: crd.Object["spec"].(map[string]any)["names"].(map[string]any)["plural"].(string),
		}
		rows = append(rows, &rowOfKind{k, crd, kube.Dynamic(c, res).In(ns), enforced})
	}
	define(t, c, crds)
	good, bad := 0, 0
	file := &recorded[objectRow]{name: "objects.jsonl"}
	for _, k := range rows {
		t.Run(k.Kind, func(t *testing.T) {
			g, b := k.compare(t, c, file)
			good, bad = good+g, bad+b
		})
	}
	file.write(t)
	if good < 100 || bad < 150 {
		t.Errorf("%d objects are valid and %d are invalid, want at least 100 and 150", good, bad)
	}
}

// rowOfKind is a kind that exists on the server.
type rowOfKind struct {
	kindCase
	crd *unstructured.Unstructured
	api *kube.API[unstructured.Unstructured]

	enforced enforcement
}

// compare compares the verdicts on all objects of a kind, and returns the numbers of valid and invalid objects.
func (k *rowOfKind) compare(t *testing.T, c *kube.Client, file *recorded[objectRow]) (good, bad int) {
	t.Helper()
	olds := make([]*unstructured.Unstructured, len(k.Objects))
	for i, row := range k.Objects {
		if row.Old == nil {
			continue
		}
		old, err := k.api.Create(limit(t), objectCase{Object: row.Old}.object(k.Kind, fmt.Sprintf("x%d", i)), nil)
		if err != nil {
			t.Fatal(err)
		}
		olds[i] = old
	}
	if k.Later != nil {
		k.change(t, c)
	}
	v, err := validation.New(k.enforced.of(k.crd), "v1", nil)
	if err != nil {
		t.Fatal(err)
	}
	file.add(objectRow{Definition: k.crd.Object})
	for i, row := range k.Objects {
		obj := row.object(k.Kind, fmt.Sprintf("x%d", i))
		if olds[i] != nil {
			obj.SetName(olds[i].GetName())
		}
		saved := row.recorded(obj, olds[i])
		theirs, ours := k.validate(t, v, row, obj, olds[i])
		if (theirs == nil) != (ours == nil) {
			t.Errorf("row %d, %v: the server reports %v, the validator reports %v", i, obj.Object, theirs, ours)
			continue
		}
		if theirs == nil {
			good++
			file.add(saved)
			continue
		}
		bad++
		server := verdictOf(t, theirs)
		saved.Verdict = &server
		file.add(saved)
		t.Run(fmt.Sprintf("row %d", i), func(t *testing.T) {
			k.enforced.compare(t, server, verdictOf(t, ours), row.Differs)
		})
	}
	return good, bad
}

// recorded returns the row that is written to the file of verdicts.
func (o objectCase) recorded(obj, old *unstructured.Unstructured) objectRow {
	row := objectRow{Verb: "create", Object: runtime.DeepCopyJSON(obj.Object), Differs: o.Differs}
	if old == nil {
		return row
	}
	row.Verb, row.Old = "update", runtime.DeepCopyJSON(old.Object)
	delete(row.Old["metadata"].(map[string]any), "managedFields")
	if o.StatusOf != nil {
		row.Verb, row.Object = "status", runtime.DeepCopyJSON(row.Old)
		row.Object["status"] = o.StatusOf
	}
	return row
}

// validate returns the errors of the server and of the validator.
func (k *rowOfKind) validate(
	t *testing.T, v *validation.Validator, row objectCase, obj, old *unstructured.Unstructured,
) (theirs, ours error) {
	t.Helper()
	update := &kube.UpdateOptions{DryRun: true, FieldValidation: metav1.FieldValidationStrict}
	switch {
	case row.StatusOf != nil:
		next := old.DeepCopy()
		next.Object["status"] = runtime.DeepCopyJSONValue(row.StatusOf)
		_, theirs = k.api.Status().Update(limit(t), next, update)
		return theirs, v.UpdateStatus(next, old)
	case old != nil:
		obj.SetResourceVersion(old.GetResourceVersion())
		_, theirs = k.api.Update(limit(t), obj, update)
		return theirs, v.Update(obj, old)
	}
	create := &kube.CreateOptions{DryRun: true, FieldValidation: metav1.FieldValidationStrict}
	_, theirs = k.api.Create(limit(t), obj, create)
	return theirs, v.Create(obj)
}

// change changes the schema of the kind, and waits until the server uses the new one.
func (k *rowOfKind) change(t *testing.T, c *kube.Client) {
	t.Helper()
	crds := kube.Dynamic(c, kube.CRDResource())
	k.crd = k.definition(k.Later)
	if _, err := crds.Apply(limit(t), k.crd.DeepCopy(), &kube.ApplyOptions{FieldManager: "e2e", Force: true}); err != nil {
		t.Fatal(err)
	}
	probe := objectCase{Spec: map[string]any{"size": "S"}}.object(k.Kind, "probe")
	eventually(t, "the server uses the new schema", func(ctx context.Context) error {
		_, err := k.api.Create(ctx, probe, &kube.CreateOptions{DryRun: true})
		if err == nil {
			return errors.New("the server uses the old one")
		}
		return nil
	})
}
