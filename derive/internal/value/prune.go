// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package value

import (
	"fmt"
	"maps"
	"slices"

	"github.com/kube-go/sdk/derive/internal/openapi"
)

// Prune removes unknown fields, and returns their paths. It keeps apiVersion, kind and metadata of resources.
func Prune(v any, s *openapi.Schema, resource bool) []string {
	if resource && (s == nil || !s.EmbeddedResource) {
		clone := openapi.Schema{}
		if s != nil {
			clone = *s
		}
		clone.EmbeddedResource = true
		s = &clone
	}
	var p pruner
	p.prune("", v, s, false)
	slices.Sort(p.unknown)
	return p.unknown
}

type pruner struct{ unknown []string }

// prune removes unknown fields. With keep, it does not remove fields of this value and its items.
func (p *pruner) prune(path string, v any, s *openapi.Schema, keep bool) {
	if !keep && s.Preserves() {
		keep = true
	}
	if keep && s == nil {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			p.property(path, v, key, s, keep)
		}
	case []any:
		for i, item := range v {
			p.prune(fmt.Sprintf("%s[%d]", path, i), item, s.Item(), keep)
		}
	}
}

func (p *pruner) property(path string, v map[string]any, key string, s *openapi.Schema, keep bool) {
	below := key
	if path != "" {
		below = path + "." + key
	}
	switch {
	case s != nil && s.EmbeddedResource && isMeta(key):
	case s != nil && s.Properties[key] != nil:
		p.prune(below, v[key], s.Properties[key], false)
	case s != nil && s.AdditionalProperties != nil:
		p.prune(below, v[key], s.AdditionalProperties.Schema, false)
	case !keep:
		p.unknown = append(p.unknown, below)
		delete(v, key)
	}
}

// isMeta reports whether a field is one of the common fields of resources.
func isMeta(key string) bool { return key == "apiVersion" || key == "kind" || key == "metadata" }

// PruneNulls removes invalid nulls of fields without a default.
func PruneNulls(v any, s *openapi.Schema) {
	switch v := v.(type) {
	case map[string]any:
		for key, child := range v {
			sub := s.Value()
			if s != nil && s.Properties[key] != nil {
				sub = s.Properties[key]
			}
			if child == nil && sub != nil && !sub.Nullable && sub.Default == nil {
				delete(v, key)
				continue
			}
			PruneNulls(child, sub)
		}
	case []any:
		for _, item := range v {
			PruneNulls(item, s.Item())
		}
	}
}
