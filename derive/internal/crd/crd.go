// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/kube-go/sdk/derive/internal/kind"
	"github.com/kube-go/sdk/derive/internal/structural"
)

// CRD is the definition of one kind with all its versions.
type CRD struct {
	Group    string
	Plural   string
	Packages []string // the packages of its versions
	object   map[string]any
}

// Version is one version of a kind with its schema.
type Version struct {
	*kind.Kind
	Schema *structural.Schema

	// Warn reports mistakes that servers accept, for versions that the user can't change. If it is nil, such mistakes
	// are reported like others.
	Warn func(token.Position, string)
}

// Assemble returns the definition of a kind with the given versions. It calls report for each mistake.
func Assemble(versions []Version, report func(token.Position, string)) *CRD {
	first := versions[0]
	a := &assembler{report: report}
	a.agree(versions)
	stored := a.stored(versions)
	var list []any
	for _, v := range versions {
		list = append(list, a.version(v, v.Kind == stored.Kind))
	}
	names := map[string]any{
		"kind":     first.Name,
		"listKind": first.Name + "List",
		"plural":   first.Plural,
		"singular": first.Singular,
	}
	put(names, "shortNames", common(versions, shortNames))
	put(names, "categories", common(versions, categories))
	scope := "Namespaced"
	if first.Cluster {
		scope = "Cluster"
	}
	metadata := map[string]any{"name": first.CRDName()}
	for _, v := range versions {
		merge(metadata, "annotations", v.Annotations)
		merge(metadata, "labels", v.Labels)
	}
	spec := map[string]any{
		"group":    first.Group,
		"names":    names,
		"scope":    scope,
		"versions": list,
	}
	if conversion := a.conversion(versions); conversion != nil {
		spec["conversion"] = conversion
	}
	packages := make([]string, len(versions))
	for i, v := range versions {
		packages[i] = v.Package
	}
	return &CRD{Group: first.Group, Plural: first.Plural, Packages: packages, object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1",
		"kind":       "CustomResourceDefinition",
		"metadata":   metadata,
		"spec":       spec,
	}}
}

func put(m map[string]any, key string, list []string) {
	if len(list) > 0 {
		m[key] = list
	}
}

func merge(m map[string]any, key string, from map[string]string) {
	if len(from) == 0 {
		return
	}
	into, _ := m[key].(map[string]string)
	if into == nil {
		into = map[string]string{}
	}
	maps.Copy(into, from)
	m[key] = into
}

// FileName returns the name of the definition's file.
func (c *CRD) FileName() string { return c.Group + "_" + c.Plural + ".yaml" }

// YAML returns the definition as YAML.
func (c *CRD) YAML() ([]byte, error) {
	body, err := yaml.Marshal(c.object)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", c.FileName(), err)
	}
	return body, nil
}

// VersionNames returns the names of the versions of a definition in YAML.
func VersionNames(definition []byte) ([]string, error) {
	var object struct {
		Spec struct {
			Versions []struct {
				Name string `json:"name"`
			} `json:"versions"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(definition, &object); err != nil {
		return nil, fmt.Errorf("decode the definition: %w", err)
	}
	names := make([]string, len(object.Spec.Versions))
	for i, v := range object.Spec.Versions {
		names[i] = v.Name
	}
	return names, nil
}

// Compact returns the definition as JSON without white space. Servers limit the size of this form.
func (c *CRD) Compact() ([]byte, error) {
	body, err := json.Marshal(c.object)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", c.FileName(), err)
	}
	return body, nil
}

// JSON returns the definition as indented JSON.
func (c *CRD) JSON() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(c.object); err != nil {
		return nil, fmt.Errorf("encode %s: %w", c.FileName(), err)
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

// Object returns the definition as a new object.
func (c *CRD) Object() (*unstructured.Unstructured, error) {
	body, err := c.JSON()
	if err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(body); err != nil {
		return nil, fmt.Errorf("decode %s: %w", c.FileName(), err)
	}
	return object, nil
}

type assembler struct {
	report func(token.Position, string)
}

// minor reports a mistake that servers accept.
func (a *assembler) minor(v Version, pos token.Position, msg string) {
	if v.Warn != nil {
		v.Warn(pos, msg)
		return
	}
	a.report(pos, msg)
}

// agree checks that the versions of a kind have the same values for properties of the whole definition.
func (a *assembler) agree(versions []Version) {
	first := versions[0]
	for _, v := range versions[1:] {
		differ := func(property string, one, other any) {
			a.report(v.Pos, fmt.Sprintf("versions %s and %s of %s have different %s: %v and %v: use the same value in all versions",
				first.Version, v.Version, v.Name, property, one, other))
		}
		if v.Version == first.Version {
			a.report(v.Pos, fmt.Sprintf("version %s of %s is already defined at %s", v.Version, v.CRDName(), position(first.Pos)))
			continue
		}
		if v.Name != first.Name {
			differ("kinds", first.Name, v.Name)
		}
		if v.Cluster != first.Cluster {
			differ("scopes", scopeOf(first), scopeOf(v))
		}
		if v.Singular != first.Singular {
			differ("singular names", first.Singular, v.Singular)
		}
		if known := common(versions, shortNames); len(v.ShortNames) > 0 && !slices.Equal(v.ShortNames, known) {
			differ("short names", known, v.ShortNames)
		}
		if known := common(versions, categories); len(v.Categories) > 0 && !slices.Equal(v.Categories, known) {
			differ("categories", known, v.Categories)
		}
	}
}

func shortNames(v Version) []string { return v.ShortNames }
func categories(v Version) []string { return v.Categories }

// common returns the list of the first version that defines it. The list applies to all versions.
func common(versions []Version, list func(Version) []string) []string {
	for _, v := range versions {
		if l := list(v); len(l) > 0 {
			return l
		}
	}
	return nil
}

func scopeOf(v Version) string {
	if v.Cluster {
		return "Cluster"
	}
	return "Namespaced"
}

// storageMarker returns the marker of the storage version.
func storageMarker(v Version) string {
	if v.Root != nil {
		return "+kubebuilder:storageversion"
	}
	return "storage=true"
}

// position formats a position with the folder of the file: the files of several packages often have the same name.
func position(pos token.Position) string {
	dir, file := filepath.Split(pos.Filename)
	return fmt.Sprintf("%s/%s:%d", filepath.Base(dir), file, pos.Line)
}

// stored returns the storage version.
func (a *assembler) stored(versions []Version) Version {
	var marked []Version
	for _, v := range versions {
		if v.Storage != nil && *v.Storage {
			marked = append(marked, v)
		}
	}
	last := versions[len(versions)-1]
	switch {
	case len(marked) == 1:
		return marked[0]
	case !slices.ContainsFunc(versions, func(v Version) bool { return v.Version != last.Version }) && len(versions) > 1:
		// that they are the same has been reported
	case len(marked) > 1:
		a.report(marked[1].Pos, fmt.Sprintf("versions %s and %s of %s are both storage versions: mark only one of them with %s",
			marked[0].Version, marked[1].Version, last.Name, storageMarker(last)))
	case len(versions) > 1:
		a.report(last.Pos, fmt.Sprintf("%s has several versions: mark the storage version with %s", last.Name, storageMarker(last)))
	case last.Storage != nil:
		a.report(last.Pos, fmt.Sprintf("%s has only one version, which is the storage version: remove storage=false", last.Name))
	}
	return last
}

// version returns the entry of one version.
func (a *assembler) version(v Version, stored bool) map[string]any {
	entry := map[string]any{
		"name":    v.Version,
		"served":  v.Served,
		"storage": stored,
		"schema":  map[string]any{"openAPIV3Schema": v.Schema},
	}
	if v.Deprecated {
		entry["deprecated"] = true
		if v.Warning != "" {
			entry["deprecationWarning"] = v.Warning
		}
	}
	subresources := map[string]any{}
	if v.HasStatus {
		subresources["status"] = map[string]any{}
	}
	if v.Scale != nil {
		subresources["scale"] = a.scale(v)
	}
	if len(subresources) > 0 {
		entry["subresources"] = subresources
	}
	if columns := a.columns(v); len(columns) > 0 {
		entry["additionalPrinterColumns"] = columns
	}
	if fields := a.selectable(v); len(fields) > 0 {
		entry["selectableFields"] = fields
	}
	return entry
}

func (a *assembler) scale(v Version) map[string]any {
	check := func(path, under, typ string) {
		s, err := v.Schema.At(path)
		switch {
		case err != nil:
			a.report(v.Scale.Pos, fmt.Sprintf("scale: %v", err))
		case !strings.HasPrefix(path, under):
			a.report(v.Scale.Pos, fmt.Sprintf("scale: path %s must be below %s", path, under))
		case s != nil && s.Type != typ:
			a.report(v.Scale.Pos, fmt.Sprintf("scale: %s must be of type %s, not %s", path, typ, s.Type))
		}
	}
	check(v.Scale.SpecReplicas, ".spec.", "integer")
	check(v.Scale.StatusReplicas, ".status.", "integer")
	scale := map[string]any{"specReplicasPath": v.Scale.SpecReplicas, "statusReplicasPath": v.Scale.StatusReplicas}
	if v.Scale.LabelSelector != "" {
		check(v.Scale.LabelSelector, ".", "string")
		scale["labelSelectorPath"] = v.Scale.LabelSelector
	}
	return scale
}

func (a *assembler) columns(v Version) []any {
	var columns []any
	for _, c := range v.Columns {
		s, err := v.Schema.At(c.Path.Path)
		if err != nil { // servers show an empty column
			a.minor(v, c.Pos, fmt.Sprintf("column %s: %v", c.Name, err))
		}
		typ := c.Type
		if typ == "" {
			if typ = columnType(s); typ == "" && err == nil {
				a.report(c.Pos, fmt.Sprintf("column %s: %s has no default column type: set it with type=…", c.Name, c.Path.Path))
				continue
			}
		}
		column := map[string]any{"name": c.Name, "type": typ, "jsonPath": c.Path.Path}
		if c.Description != "" {
			column["description"] = c.Description
		}
		if c.Format != "" {
			column["format"] = c.Format
		}
		if c.Priority != "" && c.Priority != "0" {
			column["priority"] = json.Number(c.Priority)
		}
		columns = append(columns, column)
	}
	return columns
}

// columnType returns the type of a column that shows a value.
func columnType(s *structural.Schema) string {
	switch {
	case s == nil:
		return ""
	case s.IntOrString:
		return "string"
	case s.Type == "string" && s.Format == "date-time":
		return "date"
	}
	switch s.Type {
	case "string", "integer", "number", "boolean":
		return s.Type
	}
	return ""
}

func (a *assembler) selectable(v Version) []any {
	var fields []any
	for _, p := range v.Selectable {
		s, err := v.Schema.At(p.Path)
		switch {
		case err != nil:
			a.report(p.Pos, fmt.Sprintf("selectable field: %v", err))
		case strings.ContainsRune(p.Path, '['):
			a.report(p.Pos, fmt.Sprintf("selectable field: %s must be a simple path without lists", p.Path))
		case s != nil && s.Type != "string" && s.Type != "integer" && s.Type != "boolean":
			a.report(p.Pos, fmt.Sprintf("selectable field: %s must be a string, an integer or a boolean", p.Path))
		case strings.HasPrefix(p.Path, ".metadata."):
			a.report(p.Pos, "selectable field: field selectors always support the fields of metadata: remove the path")
		}
		fields = append(fields, map[string]any{"jsonPath": p.Path})
	}
	return fields
}
