// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package definition

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kube-go/sdk/derive/internal/cel"
	"github.com/kube-go/sdk/derive/internal/openapi"
)

// scale checks the paths of the scale subresource.
func (c *checker) scale(sub *openapi.Subresources, path *field.Path) {
	if sub == nil || sub.Scale == nil {
		return
	}
	replicas := func(name, value, under string) {
		path := path.Child("scale." + name)
		switch {
		case value == "":
			c.add(field.Required(path, ""))
		case value[0] != '.':
			c.add(field.Invalid(path, value, simplePath))
		case !strings.HasPrefix(value, under+"."):
			c.add(field.Invalid(path, value, "should be a json path under "+under))
		}
	}
	replicas("specReplicasPath", sub.Scale.SpecReplicasPath, ".spec")
	replicas("statusReplicasPath", sub.Scale.StatusReplicasPath, ".status")
	selector := sub.Scale.LabelSelectorPath
	if selector == nil || *selector == "" {
		return
	}
	switch text := *selector; {
	case text[0] != '.':
		c.add(field.Invalid(path.Child("scale.labelSelectorPath"), text, simplePath))
	case !strings.HasPrefix(text, ".spec.") && !strings.HasPrefix(text, ".status."):
		c.add(field.Invalid(path.Child("scale.labelSelectorPath"), selector, "should be a json path under either .spec or .status"))
	}
}

const simplePath = "must be a simple json path starting with ."

// columns checks the printer columns.
func (c *checker) columns(columns []openapi.Column, path *field.Path) {
	types := []string{"boolean", "date", "integer", "number", "string"}
	formats := []string{"byte", "date", "date-time", "double", "float", "int32", "int64", "password"}
	for i, col := range columns {
		path := path.Index(i)
		if col.Name == "" {
			c.add(field.Required(path.Child("name"), ""))
		}
		oneOf := "must be one of " + strings.Join(types, ",")
		if col.Type == "" {
			c.add(field.Required(path.Child("type"), oneOf))
		} else if !slices.Contains(types, col.Type) {
			c.add(field.Invalid(path.Child("type"), col.Type, oneOf))
		}
		if col.Format != "" && !slices.Contains(formats, col.Format) {
			c.add(field.Invalid(path.Child("format"), col.Format, "must be one of "+strings.Join(formats, ",")))
		}
		if col.JSONPath == "" {
			c.add(field.Required(path.Child("JSONPath"), ""))
		} else if col.JSONPath[0] != '.' {
			c.add(field.Invalid(path.Child("JSONPath"), col.JSONPath, simplePath))
		}
	}
}

// maxFields is the maximum number of selectable fields of a version.
const maxFields = 8

// fields checks the selectable fields.
func (c *checker) fields(fields []openapi.SelectableField, root *openapi.Schema, schemaPath, path *field.Path) {
	if err := unreadable(root); err != nil {
		c.add(field.Invalid(schemaPath, "", err.Error()))
		root = nil // check only the syntax of the paths
	}
	seen := map[string]bool{}
	for i, f := range fields {
		path := path.Index(i).Child("jsonPath")
		if f.JSONPath == "" {
			c.add(field.Required(path, ""))
			continue
		}
		to, s, err := cel.FieldPath(f.JSONPath, root, false)
		if err != nil {
			c.add(field.Invalid(path, f.JSONPath, fmt.Sprintf("is an invalid path: %v", err)))
			continue
		}
		if to.Root().String() == "metadata" {
			c.add(field.Invalid(path, f.JSONPath, "must not point to fields in metadata"))
		}
		if s == nil || !slices.Contains([]string{"string", "boolean", "integer"}, s.Type) {
			c.add(field.Invalid(path, f.JSONPath,
				"must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed."))
		}
		if seen[to.String()] {
			c.add(field.Duplicate(path, f.JSONPath))
		}
		seen[to.String()] = true
	}
	if len(seen) > maxFields {
		c.add(field.TooMany(path, len(seen), maxFields))
	}
}
