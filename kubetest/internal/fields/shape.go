// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package fields

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// shape describes how the Go type of a schema is encoded. The server decodes objects of built-in kinds into Go types.
// Their encoding has structs that are no pointers even if they are empty, and no empty lists and maps, and this decides
// which fields an update owns.
type shape struct {
	fields   map[string]*shape // of a struct
	items    *shape            // of the items of a list, or of the values of a map
	empty    bool              // whether an empty value is encoded: false for optional lists and maps
	null     bool              // whether null is encoded, as for required lists, and times that are no pointers
	required []string          // the required fields that have no default
	defaults map[string]any    // the values of absent fields
}

// newShape returns the shape of a definition.
func newShape(schemas map[string]*spec.Schema, name string) *shape {
	b := &shapes{schemas: schemas, done: map[string]*shape{}}
	root := b.named(name)
	if metadata := root.fields["metadata"]; metadata != nil {
		// An empty list of managed fields has a meaning: it removes them.
		delete(metadata.fields, "managedFields")
	}
	return root
}

// shapes builds shapes. A definition may refer to itself.
type shapes struct {
	schemas map[string]*spec.Schema
	done    map[string]*shape
}

func (b *shapes) named(name string) *shape {
	s, ok := b.done[name]
	if ok {
		return s
	}
	s = &shape{}
	b.done[name] = s
	if schema := b.schemas[name]; schema != nil {
		b.fill(s, schema)
	}
	return s
}

func (b *shapes) of(schema *spec.Schema) *shape {
	if len(schema.AllOf) == 1 {
		schema = &schema.AllOf[0]
	}
	if name := reference(schema); name != "" {
		return b.named(name)
	}
	s := &shape{}
	b.fill(s, schema)
	return s
}

func (b *shapes) fill(s *shape, schema *spec.Schema) {
	s.empty = true
	switch {
	case schema.Items != nil && schema.Items.Schema != nil:
		s.items, s.empty = b.of(schema.Items.Schema), false
	case schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil:
		s.items, s.empty = b.of(schema.AdditionalProperties.Schema), false
	case len(schema.Properties) > 0:
		s.fields, s.defaults = map[string]*shape{}, map[string]any{}
	}
	for name, property := range schema.Properties {
		required := slices.Contains(schema.Required, name)
		field := b.of(&property)
		if required && !field.empty {
			field.empty, field.null = true, true // this is no shape of a definition: lists and maps have none
		}
		s.fields[name] = field
		if value, ok := encoded(property.Default, required); ok {
			s.defaults[name] = value
		} else if isTime(name) {
			field = &shape{empty: true, null: true}
			s.fields[name], s.defaults[name] = field, nil
		} else if required {
			s.required = append(s.required, name)
		}
	}
}

// isTime returns whether a field is a time that is no pointer in Go. Its encoding has null if it is not set. The schema
// does not show which times these are, but their names do: none of them is a pointer in another type.
func isTime(name string) bool {
	switch name {
	case "deprecatedFirstTimestamp", "deprecatedLastTimestamp", "eventTime", "evictionTime", "expirationTimestamp",
		"finishedAt", "firstTimestamp", "lastHeartbeatTime", "lastObservedTime", "lastProbeTime", "lastTimestamp",
		"lastTransitionTime", "lastUpdateTime", "startedAt", "time":
		return true
	default:
		return false
	}
}

// encoded returns the value of an absent field. The default of an optional number, string or boolean that is zero
// comes from its Go type, whose encoding omits it.
func encoded(value any, required bool) (any, bool) {
	switch v := value.(type) {
	case nil:
		return nil, false
	case float64:
		if v == float64(int64(v)) {
			return int64(v), required || v != 0
		}
		return v, true
	case string:
		return v, required || v != ""
	case bool:
		return v, required || v
	default:
		return runtime.DeepCopyJSONValue(v), true
	}
}

// Normalize returns a copy of an object that has the fields which the server would store. For a built-in kind it sets
// the defaults of the schema, and removes null, and empty lists and maps, unless they are required. It sets no defaults of which the schema knows nothing. A custom resource is returned unchanged.
func (m *Manager) Normalize(obj *unstructured.Unstructured) *unstructured.Unstructured {
	normalized := obj.DeepCopy()
	if m.shape != nil {
		m.shape.normalize(normalized.Object)
	}
	return normalized
}

func (s *shape) normalize(value any) {
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			s.item(item)
		}
	case map[string]any:
		if s.fields == nil {
			for _, item := range value {
				s.item(item)
			}
			return
		}
		s.normalizeFields(value)
	}
}

func (s *shape) item(value any) {
	if s.items != nil {
		s.items.normalize(value)
	}
}

func (s *shape) normalizeFields(fields map[string]any) {
	for name, field := range s.fields {
		value, ok := fields[name]
		if !ok {
			continue
		}
		switch {
		case value == nil && !field.null, !field.empty && isEmpty(value):
			delete(fields, name)
		default:
			field.normalize(value)
		}
	}
	for name, value := range s.defaults {
		if _, ok := fields[name]; !ok {
			value = runtime.DeepCopyJSONValue(value)
			s.fields[name].normalize(value)
			fields[name] = value
		}
	}
}

// zero returns the encoding of the zero value of a struct.
func (s *shape) zero() map[string]any {
	fields := map[string]any{}
	for _, name := range s.required {
		fields[name] = nil
	}
	for name, value := range s.defaults {
		switch value {
		case nil, "", int64(0), false:
			fields[name] = value
		}
		if _, ok := value.(map[string]any); ok {
			fields[name] = s.fields[name].zero()
		}
	}
	return fields
}

func isEmpty(value any) bool {
	switch value := value.(type) {
	case []any:
		return len(value) == 0
	case map[string]any:
		return len(value) == 0
	default:
		return false
	}
}
