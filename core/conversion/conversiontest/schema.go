// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package conversiontest

import (
	"fmt"
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kube-go/sdk/core/wire"
)

// schema has the constraints of a definition that random values satisfy.
type schema struct {
	Type                 string             `json:"type"`
	Format               string             `json:"format"`
	Enum                 []any              `json:"enum"`
	Default              any                `json:"default"`
	Nullable             bool               `json:"nullable"`
	Pattern              *regexp.Regexp     `json:"pattern"`
	Minimum              *float64           `json:"minimum"`
	Maximum              *float64           `json:"maximum"`
	ExclusiveMinimum     bool               `json:"exclusiveMinimum"`
	ExclusiveMaximum     bool               `json:"exclusiveMaximum"`
	MultipleOf           *float64           `json:"multipleOf"`
	MinLength            *int               `json:"minLength"`
	MaxLength            *int               `json:"maxLength"`
	MinItems             *int               `json:"minItems"`
	MaxItems             *int               `json:"maxItems"`
	MinProperties        *int               `json:"minProperties"`
	MaxProperties        *int               `json:"maxProperties"`
	Properties           map[string]*schema `json:"properties"`
	Items                *schema            `json:"items"`
	AdditionalProperties values             `json:"additionalProperties"`
	Required             []string           `json:"required"`
	ListType             string             `json:"x-kubernetes-list-type"`
	ListMapKeys          []string           `json:"x-kubernetes-list-map-keys"`
}

// values is the schema of a map's values, or nil, which allows everything. Its JSON may also be a boolean.
type values struct{ *schema }

// UnmarshalJSON accepts all forms.
func (v *values) UnmarshalJSON(data []byte) error {
	if s := string(data); s == "true" || s == "false" {
		v.schema = nil
		return nil
	}
	return wire.UnmarshalJSON(data, &v.schema)
}

// schemaOf returns the schema of a version, or nil, which allows everything, without a definition.
func schemaOf(crd *unstructured.Unstructured, version string) (*schema, error) {
	if crd == nil {
		return nil, nil
	}
	data, err := wire.MarshalJSON(crd.Object)
	if err != nil {
		return nil, err
	}
	var def struct {
		Spec struct {
			Versions []struct {
				Name   string `json:"name"`
				Schema struct {
					OpenAPIV3Schema *schema `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	if err := wire.UnmarshalJSON(data, &def); err != nil {
		return nil, fmt.Errorf("read %s: %w", crd.GetName(), err)
	}
	for _, v := range def.Spec.Versions {
		if v.Name == version {
			return v.Schema.OpenAPIV3Schema, nil
		}
	}
	return nil, fmt.Errorf("%s has no version %s", crd.GetName(), version)
}

// setDefaults sets the fields in a JSON value that are missing and have a default, as a server does.
func (s *schema) setDefaults(value any) {
	if s == nil {
		return
	}
	switch value := value.(type) {
	case map[string]any:
		for name, p := range s.Properties {
			if v, ok := value[name]; p.Default != nil && (!ok || v == nil && !p.Nullable) {
				value[name] = runtime.DeepCopyJSONValue(p.Default)
			}
		}
		for name, v := range value {
			s.property(name).setDefaults(v)
		}
	case []any:
		for _, v := range value {
			s.Items.setDefaults(v)
		}
	}
}

// property returns the schema of a field, or nil if the schema does not define it.
func (s *schema) property(name string) *schema {
	if s == nil {
		return nil
	}
	if p := s.Properties[name]; p != nil {
		return p
	}
	return s.AdditionalProperties.schema
}

func (s *schema) requires(name string) bool { return s != nil && slices.Contains(s.Required, name) }

func (s *schema) items() *schema {
	if s == nil {
		return nil
	}
	return s.Items
}

// key returns the JSON that identifies an item of a list of the type set or map. It is empty for other lists, whose
// items may be equal.
func (s *schema) key(item any) (string, error) {
	if s == nil || s.ListType != "set" && s.ListType != "map" {
		return "", nil
	}
	data, err := wire.MarshalJSON(item)
	if err != nil || s.ListType == "set" {
		return string(data), err
	}
	var value any
	if err := wire.UnmarshalJSON(data, &value); err != nil {
		return "", err
	}
	s.Items.setDefaults(value)
	object, _ := value.(map[string]any)
	keys := make([]any, len(s.ListMapKeys))
	for i, name := range s.ListMapKeys {
		keys[i] = object[name]
	}
	data, err = wire.MarshalJSON(keys)
	return string(data), err
}

func (s *schema) values() *schema {
	if s == nil {
		return nil
	}
	return s.AdditionalProperties.schema
}
