// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/derive/evolution"
	"github.com/kube-go/sdk/kube"
)

// breaks returns changes of a field's schema by name of the field, each with a value that is valid only before the
// change.
func breaks() map[string]struct {
	before, after map[string]any
	value         any
} {
	type change = struct {
		before, after map[string]any
		value         any
	}
	typed := func(name string, more ...any) map[string]any {
		m := map[string]any{"type": name}
		for i := 0; i < len(more); i += 2 {
			m[more[i].(string)] = more[i+1]
		}
		return m
	}
	list := func(more ...any) map[string]any {
		return typed("array", append([]any{"items", typed("string")}, more...)...)
	}
	fields := func(more ...any) map[string]any {
		properties := map[string]any{"a": typed("string"), "b": typed("string")}
		return typed("object", append([]any{"properties", properties}, more...)...)
	}
	rules := func(rules ...string) []any {
		var all []any
		for _, r := range rules {
			all = append(all, map[string]any{"rule": r})
		}
		return all
	}
	any1 := map[string]any{"a": "x"}
	return map[string]change{
		"maxLength": {typed("string"), typed("string", "maxLength", int64(2)), "long"},
		"minLength": {typed("string"), typed("string", "minLength", int64(9)), "short"},
		"pattern":   {typed("string", "pattern", "^a"), typed("string", "pattern", "^ab"), "ac"},
		"enum":      {typed("string", "enum", []any{"a", "b"}), typed("string", "enum", []any{"b"}), "a"},
		"format":    {typed("string"), typed("string", "format", "date-time"), "yesterday"},
		"maximum":   {typed("integer"), typed("integer", "maximum", int64(5)), int64(7)},
		"exclusive": {
			typed("integer", "maximum", int64(7)),
			typed("integer", "maximum", int64(7), "exclusiveMaximum", true), int64(7),
		},
		"multipleOf": {typed("integer"), typed("integer", "multipleOf", int64(2)), int64(7)},
		"int32":      {typed("integer", "format", "int64"), typed("integer", "format", "int32"), int64(1) << 40},
		"type":       {typed("string"), typed("integer"), "text"},
		"nulls":      {list("items", typed("string", "nullable", true)), list(), []any{nil}},
		"maxItems":   {list(), list("maxItems", int64(1)), []any{"a", "b"}},
		"maxProps":   {fields(), fields("maxProperties", int64(1)), map[string]any{"a": "x", "b": "y"}},
		"required":   {fields(), fields("required", []any{"b"}), any1},
		"set":        {list(), list("x-kubernetes-list-type", "set"), []any{"a", "a"}},
		"allOf":      {typed("string"), typed("string", "allOf", []any{map[string]any{"maxLength": int64(2)}}), "long"},
		"anyOf":      {fields(), fields("anyOf", []any{map[string]any{"required": []any{"b"}}}), any1},
		"oneOf":      {fields(), fields("oneOf", []any{map[string]any{"required": []any{"b"}}}), any1},
		"not":        {typed("string"), typed("string", "not", map[string]any{"enum": []any{"a"}}), "a"},
		"rule": {
			typed("string"),
			typed("string", "maxLength", int64(99), "x-kubernetes-validations", rules("self != 'a'")), "a",
		},
	}
}

// TestServerRejectsValuesThatEvolutionReportsAsBroken checks the report of package evolution: after a breaking change,
// the server must reject new objects with the old value, and it must accept or reject updates of stored objects as
// reported.
func TestServerRejectsValuesThatEvolutionReportsAsBroken(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	res := kube.Resource{
		Group: "evolution.e2e.example.com", Version: "v1", Kind: "Thing", Plural: "things", Namespaced: true,
	}
	before := map[string]any{"other": map[string]any{"type": "string"}}
	after := map[string]any{"other": map[string]any{"type": "string"}}
	for name, b := range breaks() {
		before[name], after[name] = b.before, b.after
	}
	old, next := thingsOf(res, before), thingsOf(res, after)
	changes, err := evolution.Compare(old, next)
	if err != nil {
		t.Fatal(err)
	}

	defineKind(t, c, old)
	ns := newNamespace(t, c)
	things := kube.Dynamic(c, res).In(ns)
	thing := func(field string) *unstructured.Unstructured {
		obj := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{field: breaks()[field].value}}}
		obj.SetName(strings.ToLower(field))
		return obj
	}
	for field := range breaks() {
		if _, err := things.Create(limit(t), thing(field), nil); err != nil {
			t.Fatalf("before the change: %v", err)
		}
	}
	crds := kube.Dynamic(c, kube.CRDResource())
	if _, err := crds.Apply(limit(t), next, &kube.ApplyOptions{FieldManager: "e2e", Force: true}); err != nil {
		t.Fatal(err)
	}
	dry := &kube.CreateOptions{DryRun: true}
	eventually(t, "the new schema is in force", func(ctx context.Context) error {
		obj := thing("maxLength")
		obj.SetName("probe")
		if _, err := things.Create(ctx, obj, dry); !errors.Is(err, kube.ErrInvalid) {
			return fmt.Errorf("create with a value that is too long: %w, want ErrInvalid", err)
		}
		return nil
	})
	formats := has(t, c, numbersHaveFormats)
	for field := range breaks() {
		t.Run(field, func(t *testing.T) {
			why := ""
			for _, ch := range changes {
				if strings.HasPrefix(ch.Path, ".spec."+field) && ch.Severity == evolution.Breaking {
					why = ch.Why
				}
			}
			if why == "" {
				t.Fatal("the change is not reported as breaking")
			}
			obj := thing(field)
			obj.SetName("new")
			_, err := things.Create(limit(t), obj, dry)
			if field == "int32" && !formats {
				if err != nil {
					t.Errorf("create on a server that ignores the formats of numbers: %v", err)
				}
			} else if !errors.Is(err, kube.ErrInvalid) {
				t.Errorf("create with the old value: %v, want ErrInvalid", err)
			}
			if !strings.Contains(why, "accepted until it changes") && field != "required" {
				t.Errorf("Why = %q, want that stored values pass until they change", why)
			}
			update := func(patch map[string]any) error {
				o := &kube.PatchOptions{DryRun: true}
				_, err := things.Patch(limit(t), strings.ToLower(field), kube.MergePatch(patch), o)
				return err
			}
			if err := update(map[string]any{"spec": map[string]any{"other": "x"}}); err != nil {
				t.Errorf("update with a stored value that does not change: %v", err)
			}
			if _, ok := breaks()[field].value.(map[string]any); !ok {
				return
			}
			err = update(map[string]any{"spec": map[string]any{field: map[string]any{"a": "y"}}})
			if !errors.Is(err, kube.ErrInvalid) {
				t.Errorf("update with a stored value that changes: %v, want ErrInvalid", err)
			}
		})
	}
}

// thingsOf returns the definition of a kind whose spec has the given fields.
func thingsOf(res kube.Resource, fields map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1",
		"kind":       "CustomResourceDefinition",
		"metadata":   map[string]any{"name": res.String()},
		"spec": map[string]any{
			"group": res.Group,
			"scope": "Namespaced",
			"names": map[string]any{"kind": res.Kind, "plural": res.Plural},
			"versions": []any{map[string]any{
				"name": res.Version, "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{
					"type":       "object",
					"properties": map[string]any{"spec": map[string]any{"type": "object", "properties": fields}},
				}},
			}},
		},
	}}
}
