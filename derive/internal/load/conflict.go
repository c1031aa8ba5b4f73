// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"encoding/json"
	"fmt"
	"math/big"
	"path/filepath"
	"reflect"
	"strings"
)

// subject returns the property that a marker sets. Markers with the same subject contradict each other if their values
// differ.
func subject(m *Marker) string {
	name := strings.TrimPrefix(m.Name, "kubebuilder:validation:")
	name, declarative := strings.CutPrefix(name, "k8s:")
	switch name {
	case "maxLength", "minLength", "maxItems", "minItems", "maxProperties", "minProperties", "maximum", "minimum", "format", "listType":
		return strings.ToLower(name)
	case "MaxLength", "MinLength", "MaxItems", "MinItems", "MaxProperties", "MinProperties", "Maximum", "Minimum", "Format":
		return strings.ToLower(name)
	case "optional", "Optional", "required", "Required":
		return "required"
	case "forbidden":
		return "required"
	case "kubebuilder:default", "default":
		return "default"
	case "mapType", "structType":
		return "mapType"
	case "ExclusiveMaximum", "ExclusiveMinimum", "Pattern", "Type", "MultipleOf", "kubebuilder:title", "kubebuilder:example":
		if !declarative {
			return name
		}
	}
	return ""
}

// says returns the value that a marker sets.
func says(m *Marker) any {
	switch name := m.Name[strings.LastIndexByte(m.Name, ':')+1:]; name {
	case "optional", "Optional":
		return "optional"
	case "required", "Required":
		return "required"
	case "forbidden":
		return name
	}
	return m.Args[""]
}

// conflicts reports contradicting markers of a declaration.
func (s *scan) conflicts(markers []*Marker) {
	first := map[string]*Marker{}
	for _, m := range markers {
		key := subject(m)
		if key == "" {
			continue
		}
		if m.Items {
			key = "items " + key
		}
		old := first[key]
		if old == nil {
			first[key] = m
			continue
		}
		if !reflect.DeepEqual(says(old), says(m)) {
			s.mistake(m.Pos, fmt.Sprintf("%s contradicts %s: remove one of them", s.quote(m), s.quoteAt(old)))
		}
	}
	for _, bound := range []string{"length", "items", "properties", "imum"} {
		for _, prefix := range []string{"", "items "} {
			low, high := first[prefix+"min"+bound], first[prefix+"max"+bound]
			if low == nil || high == nil {
				continue
			}
			if l, h := rational(low), rational(high); l != nil && h != nil && l.Cmp(h) > 0 {
				s.mistake(high.Pos, fmt.Sprintf("%s is less than %s: no value is valid", s.quote(high), s.quoteAt(low)))
			}
		}
	}
}

// rational returns the value of a limit.
func rational(m *Marker) *big.Rat {
	n, ok := m.Args[""].(json.Number)
	if !ok || len(n) > 100 {
		return nil
	}
	r, ok := new(big.Rat).SetString(n.String())
	if !ok {
		return nil
	}
	return r
}

// quote formats a marker as in source code.
func (s *scan) quote(m *Marker) string {
	spelling := s.program.set.Spelling(m.Marker)
	v, ok := m.Args[""]
	if !ok || v == true {
		return spelling
	}
	if text, ok := v.(string); ok {
		return spelling + "=" + text
	}
	b, err := json.Marshal(v)
	if err != nil {
		return spelling
	}
	return spelling + "=" + string(b)
}

// quoteAt is quote with the position.
func (s *scan) quoteAt(m *Marker) string {
	return fmt.Sprintf("%s at %s:%d", s.quote(m), filepath.Base(m.Pos.Filename), m.Pos.Line)
}
