// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package value

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kube-go/sdk/derive/internal/openapi"
)

// Default sets the default values of an object, for missing fields and for fields with an invalid null.
func Default(v any, s *openapi.Schema) {
	if s == nil {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		for key, p := range s.Properties {
			if _, ok := v[key]; p.Default != nil && (!ok || invalidNull(v[key], p)) {
				v[key] = runtime.DeepCopyJSONValue(p.Default)
			}
		}
		for _, key := range slices.Collect(maps.Keys(v)) {
			if p := s.Properties[key]; p != nil {
				Default(v[key], p)
				continue
			}
			if more := s.Value(); invalidNull(v[key], more) {
				v[key] = runtime.DeepCopyJSONValue(more.Default)
			}
			Default(v[key], s.Value())
		}
	case []any:
		for i := range v {
			if invalidNull(v[i], s.Item()) {
				v[i] = runtime.DeepCopyJSONValue(s.Item().Default)
			}
			Default(v[i], s.Item())
		}
	}
}

// invalidNull reports whether a value is null although its schema is not nullable.
func invalidNull(v any, s *openapi.Schema) bool { return v == nil && s != nil && !s.Nullable }
