// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
)

// DowngradeError reports that a definition lacks parts of the installed one.
type DowngradeError struct {
	Name   string   // the name of the definition
	Losses []string // the parts that only the installed one has, such as "version v1: field .spec.title"

	stored []string // the lost versions in which objects are stored
}

// lossesShown is the maximum number of losses in an error message.
const lossesShown = 5

// Error names what would be lost, and how to proceed.
func (e *DowngradeError) Error() string {
	shown := e.Losses[:min(len(e.Losses), lossesShown)]
	what := strings.Join(shown, ", ")
	if more := len(e.Losses) - len(shown); more > 0 {
		what += fmt.Sprintf(" and %d more", more)
	}
	what = "the installed definition has more, which a newer program may need: " + what + "; run the newer program, or"
	if len(e.stored) == 0 {
		return what + " set AllowDowngrade if it was removed on purpose"
	}
	return what + ", if it was removed on purpose, write all objects again in another version, remove " +
		strings.Join(e.stored, " and ") + " from status.storedVersions, and install it with AllowDowngrade"
}

// definition is a CustomResourceDefinition with the fields that this package needs.
type definition struct {
	source    *unstructured.Unstructured
	installed *unstructured.Unstructured // the installed definition that it was compared with, or nil

	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		Group string `json:"group"`
		Scope string `json:"scope"`
		Names struct {
			Kind   string `json:"kind"`
			Plural string `json:"plural"`
		} `json:"names"`
		Versions   []served `json:"versions"`
		Conversion struct {
			Strategy string `json:"strategy"`
		} `json:"conversion"`
	} `json:"spec"`
	Status struct {
		StoredVersions []string `json:"storedVersions"`
	} `json:"status"`
}

// served is a version of a definition.
type served struct {
	Name    string `json:"name"`
	Served  bool   `json:"served"`
	Storage bool   `json:"storage"`
	Schema  struct {
		OpenAPIV3Schema *schema `json:"openAPIV3Schema"`
	} `json:"schema"`
	Subresources map[string]any `json:"subresources"`
	Selectable   []struct {
		JSONPath string `json:"jsonPath"`
	} `json:"selectableFields"`
}

// schema is the part of a schema that determines which fields the server keeps. Preserve concerns only the fields that
// the schema does not have: the server drops unknown fields below the others. Embedded implies the fields apiVersion,
// kind and metadata.
type schema struct {
	Type                 string             `json:"type"`
	Properties           map[string]*schema `json:"properties"`
	Items                *schema            `json:"items"`
	AdditionalProperties values             `json:"additionalProperties"`
	Preserve             bool               `json:"x-kubernetes-preserve-unknown-fields"`
	Embedded             bool               `json:"x-kubernetes-embedded-resource"`
	Enum                 []any              `json:"enum"`

	undeclared bool // the schema is that of a field that another one preserves without declaring it
}

// values is the schema of a map's values, or nil if it is not a map. Its JSON may also be true or false. With true, the
// server keeps all keys, but drops the fields of values that are objects.
type values struct{ *schema }

// UnmarshalJSON accepts all forms.
func (v *values) UnmarshalJSON(data []byte) error {
	switch string(data) {
	case "true":
		v.schema = &schema{Type: "object"}
		return nil
	case "false":
		v.schema = nil
		return nil
	}
	return wire.UnmarshalJSON(data, &v.schema)
}

// read decodes a definition.
func read(crd *unstructured.Unstructured) (*definition, error) {
	if crd == nil {
		return nil, errors.New("is nil")
	}
	data, err := wire.MarshalJSON(crd.Object)
	if err != nil {
		return nil, err
	}
	d := &definition{source: crd}
	if err := wire.UnmarshalJSON(data, d); err != nil {
		return nil, err
	}
	switch want := core.CRDResource(); {
	case d.APIVersion != want.APIVersion() || d.Kind != want.Kind:
		return nil, fmt.Errorf("it is a %s of %s, not a %s of %s; core.CRD returns that of a kind",
			d.Kind, d.APIVersion, want.Kind, want.APIVersion())
	case d.Metadata.Name == "":
		return nil, errors.New("metadata.name is empty; it must be spec.names.plural and spec.group with a dot between")
	}
	return d, nil
}

// resource returns the resource of the kind in a version.
func (d *definition) resource(version string) core.Resource {
	return core.Resource{
		Group: d.Spec.Group, Version: version, Kind: d.Spec.Names.Kind, Plural: d.Spec.Names.Plural,
		Namespaced: d.Spec.Scope == "Namespaced",
	}
}

func (d *definition) version(name string) *served {
	for i := range d.Spec.Versions {
		if d.Spec.Versions[i].Name == name {
			return &d.Spec.Versions[i]
		}
	}
	return nil
}

func (d *definition) storage() string {
	for _, v := range d.Spec.Versions {
		if v.Storage {
			return v.Name
		}
	}
	return ""
}

// lostIn returns the parts of an installed definition that a new one lacks.
func (d *definition) lostIn(next *definition) []string {
	var losses []string
	for _, name := range d.storedLostIn(next) {
		losses = append(losses, fmt.Sprintf("version %s, in which objects are stored", name))
	}
	for _, v := range d.Spec.Versions {
		after := next.version(v.Name)
		switch {
		case after == nil && slices.Contains(d.Status.StoredVersions, v.Name): // already reported
		case v.Served && (after == nil || !after.Served):
			losses = append(losses, "version "+v.Name)
		case after != nil:
			for _, lost := range v.lostIn(after) {
				losses = append(losses, "version "+v.Name+": "+lost)
			}
		}
	}
	if d.converts() && !next.converts() && len(next.Spec.Versions) > 1 {
		losses = append(losses, "conversion between versions by a webhook")
	}
	if before, after := d.storage(), next.storage(); after != "" && core.CompareVersions(before, after) > 0 {
		losses = append(losses, fmt.Sprintf("storage in version %s instead of %s", before, after))
	}
	return losses
}

// storedLostIn returns the versions that a new definition lacks although objects are stored in them. Servers refuse it.
func (d *definition) storedLostIn(next *definition) []string {
	var lost []string
	for _, name := range d.Status.StoredVersions {
		if next.version(name) == nil {
			lost = append(lost, name)
		}
	}
	return lost
}

// converts reports whether a webhook converts between versions.
func (d *definition) converts() bool { return d.Spec.Conversion.Strategy == "Webhook" }

// lostIn returns the parts of a version that its replacement lacks.
func (v *served) lostIn(next *served) []string {
	var lost []string
	for _, name := range slices.Sorted(maps.Keys(v.Subresources)) {
		if next.Subresources[name] == nil {
			lost = append(lost, "subresource "+name)
		}
	}
	for _, field := range v.Selectable {
		if !slices.Contains(next.Selectable, field) {
			lost = append(lost, "selectable field "+field.JSONPath)
		}
	}
	return append(lost, lostFields(v.object(), next.object(), "")...)
}

// object returns the schema of the objects, which all have apiVersion, kind and metadata.
func (v *served) object() *schema {
	s := *cmp.Or(v.Schema.OpenAPIV3Schema, &schema{})
	s.Embedded = true
	return &s
}

// lostFields returns the fields of a schema that another one drops, ordered by name, and the enum values that it
// rejects. A lost subtree is reported by its root. An undeclared field is not lost if it becomes a string or a number:
// the types of fields are not compared.
func lostFields(before, after *schema, path string) []string {
	if after == nil {
		after = &schema{} // keeps no fields
	}
	if before == nil || before.undeclared && !after.holdsFields() {
		return nil
	}
	var lost []string
	for _, value := range before.Enum {
		if len(after.Enum) > 0 && !slices.ContainsFunc(after.Enum, func(v any) bool { return reflect.DeepEqual(v, value) }) {
			lost = append(lost, fmt.Sprintf("value %v of %s", value, root(path)))
		}
	}
	others, nextOthers := before.others(), after.others()
	if before.Preserve && !after.Preserve {
		lost = append(lost, "fields of any name in "+root(path))
		others = before.AdditionalProperties.schema
	}
	if others != nil && nextOthers == nil {
		lost = append(lost, "keys of any name in "+root(path))
		others = nil
	}
	fields, nextFields := before.fields(), after.fields()
	names := slices.AppendSeq(slices.Collect(maps.Keys(fields)), maps.Keys(nextFields))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		field, was, next := path+"."+name, cmp.Or(fields[name], others), cmp.Or(nextFields[name], nextOthers)
		if was != nil && next == nil {
			lost = append(lost, "field "+field)
		} else {
			lost = append(lost, lostFields(was, next, field)...)
		}
	}
	lost = append(lost, lostFields(others, nextOthers, path+"[*]")...)
	items := before.Items
	if after.Preserve {
		items = before.items()
	}
	return append(lost, lostFields(items, after.items(), path+"[]")...)
}

// holdsFields reports whether a value of the schema is an object, or can contain one.
func (s *schema) holdsFields() bool {
	return s.Type == "object" || s.Type == "array" && (s.Items == nil || s.Items.holdsFields())
}

// others returns the schema of the fields without a property, or nil if the server drops them. A map takes any name.
func (s *schema) others() *schema {
	if s.AdditionalProperties.schema == nil && s.Preserve {
		return &schema{Preserve: true, undeclared: true}
	}
	return s.AdditionalProperties.schema
}

// fields returns the properties, including those that the server keeps in every embedded object.
func (s *schema) fields() map[string]*schema {
	if !s.Embedded {
		return s.Properties
	}
	fields := map[string]*schema{"apiVersion": {}, "kind": {}, "metadata": {}}
	maps.Copy(fields, s.Properties)
	metadata := *cmp.Or(fields["metadata"], &schema{})
	metadata.Preserve = true
	fields["metadata"] = &metadata
	return fields
}

// items returns the schema of list items, or nil. The items of a list that preserves unknown fields preserve theirs.
func (s *schema) items() *schema {
	if !s.Preserve {
		return s.Items
	}
	items := *cmp.Or(s.Items, &schema{undeclared: true})
	items.Preserve = true
	return &items
}

func root(path string) string {
	if path == "" {
		return "the object"
	}
	return path
}
