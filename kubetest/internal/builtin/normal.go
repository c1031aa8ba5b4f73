// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package builtin

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// normal returns a value in which all values that the server considers equal are deeply equal. The result shares
// unchanged parts with the value.
func normal(s *spec.Schema, value any) any {
	if name := target(s); name != "" {
		if keepsUnknown(name) {
			return value
		}
		if name == "io.k8s.apimachinery.pkg.api.resource.Quantity" {
			return normalQuantity(value)
		}
		s = schemas()[name]
	}
	switch value := value.(type) {
	case map[string]any:
		return normalObject(s, value)
	case []any:
		return normalList(s, value)
	case float64:
		if whole := int64(value); float64(whole) == value {
			return whole
		}
	}
	return value
}

func normalObject(s *spec.Schema, obj map[string]any) map[string]any {
	result := make(map[string]any, len(obj))
	for name, value := range obj {
		if s.AdditionalProperties != nil {
			result[name] = normal(s.AdditionalProperties.Schema, value)
			continue
		}
		field, known := s.Properties[name]
		if !known {
			result[name] = value
			continue
		}
		if value = normal(&field, value); !unset(&field, value) {
			result[name] = value
		}
	}
	return result
}

// unset reports whether a normal value of a field is the same as no value. An empty object is different from no value
// if the field is a pointer to a struct. The schemas of other structs have a default.
func unset(field *spec.Schema, value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case string:
		return value == ""
	case []any:
		return len(value) == 0
	case map[string]any:
		return len(value) == 0 && (field.Default != nil || target(field) == "")
	}
	return false
}

func normalList(s *spec.Schema, list []any) []any {
	if s.Items == nil {
		return list
	}
	result := make([]any, len(list))
	for i, element := range list {
		result[i] = normal(s.Items.Schema, element)
	}
	return result
}

func normalQuantity(value any) any {
	q, err := resource.ParseQuantity(fmt.Sprint(value))
	if err != nil {
		return value
	}
	return resource.NewDecimalQuantity(*q.AsDec(), resource.DecimalSI).String()
}
