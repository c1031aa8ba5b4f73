// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package structural

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/kube-go/sdk/derive/internal/suggest"
)

// unsupported returns an error for a JSON Schema keyword that servers do not support. It ignores keywords that only
// describe the document.
func unsupported(in *jsonschema.Schema) error {
	for _, k := range []struct {
		name string
		set  bool
	}{
		{"$dynamicRef", in.DynamicRef != ""},
		{"if", in.If != nil},
		{"then", in.Then != nil},
		{"else", in.Else != nil},
		{"dependentSchemas", in.DependentSchemas != nil},
		{"dependentRequired", in.DependentRequired != nil},
		{"prefixItems", in.PrefixItems != nil},
		{"contains", in.Contains != nil},
		{"minContains", in.MinContains != nil},
		{"maxContains", in.MaxContains != nil},
		{"patternProperties", in.PatternProperties != nil},
		{"propertyNames", in.PropertyNames != nil},
		{"contentSchema", in.ContentSchema != nil},
		{"readOnly", in.ReadOnly},
		{"writeOnly", in.WriteOnly},
		{"deprecated", in.Deprecated},
	} {
		if k.set {
			return fmt.Errorf("keyword %s is not supported in CustomResourceDefinitions: use a rule in %s", k.name, KeyValidations)
		}
	}
	if in.UniqueItems {
		return fmt.Errorf("uniqueItems is not supported in CustomResourceDefinitions: use %s=set", KeyListType)
	}
	return nil
}

// extended contains the keywords that are not part of JSON Schema.
type extended struct {
	Nullable              bool          `json:"nullable"`
	ExternalDocs          *ExternalDocs `json:"externalDocs"`
	EmbeddedResource      bool          `json:"x-kubernetes-embedded-resource"`
	IntOrString           bool          `json:"x-kubernetes-int-or-string"`
	PreserveUnknownFields bool          `json:"x-kubernetes-preserve-unknown-fields"`
	ListType              string        `json:"x-kubernetes-list-type"`
	ListMapKeys           []string      `json:"x-kubernetes-list-map-keys"`
	Descriptions          string        `json:"x-kube-descriptions"`
	Typical               any           `json:"x-kube-typical"`
	MapType               string        `json:"x-kubernetes-map-type"`
	Validations           []Rule        `json:"x-kubernetes-validations"`
}

// keys returns the names of the extended keywords.
func keys() []string {
	return []string{
		KeyNullable, KeyExternalDocs, KeyEmbeddedResource, KeyIntOrString, KeyPreserveUnknownFields, KeyListType, KeyListMapKeys,
		KeyMapType, KeyValidations, KeyDescriptions, KeyTypical,
	}
}

// NearKey returns a question that suggests a similar extended keyword, or "".
func NearKey(name string) string {
	const prefix = "x-kubernetes-"
	var ends []string
	for _, key := range keys() {
		ends = append(ends, strings.TrimPrefix(key, prefix))
	}
	near := suggest.Nearest(strings.TrimPrefix(name, prefix), ends)
	if near == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %s?", keys()[slices.Index(ends, near)])
}

// extras decodes the extended keywords. The values can have any type with the right JSON.
func (s *Schema) extras(e map[string]any) error {
	if len(e) == 0 {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(e)) {
		if slices.Contains(keys(), key) {
			continue
		}
		return fmt.Errorf("unknown keyword %s%s", key, NearKey(key))
	}
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	var x extended
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&x); err != nil {
		return fmt.Errorf("extended keywords: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	s.Nullable, s.ExternalDocs, s.EmbeddedResource, s.IntOrString = x.Nullable, x.ExternalDocs, x.EmbeddedResource, x.IntOrString
	s.PreserveUnknownFields = s.PreserveUnknownFields || x.PreserveUnknownFields
	s.Descriptions, s.Typical = x.Descriptions, x.Typical
	s.ListType, s.ListMapKeys, s.MapType, s.Validations = x.ListType, x.ListMapKeys, x.MapType, x.Validations
	return nil
}
