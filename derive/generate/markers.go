// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"github.com/kube-go/sdk/derive/internal/marker"
)

// Marker describes a marker of kube-derive.
type Marker struct {
	Name      string   // such as "kubebuilder:validation:MaxLength"
	On        []string // its targets: "package", "type", "field", "constant"
	Arguments []MarkerArgument

	// Refused is the reason why a CRD can't express the marker. Such a marker is an error on types of the user's module.
	Refused string
}

// MarkerArgument describes an argument of a marker.
type MarkerArgument struct {
	Name     string // empty for the value of the marker
	Value    string // a description, such as "a number"
	Required bool
}

// Markers returns all markers, ordered by name, for editors and documentation.
func Markers() []Marker {
	var list []Marker
	for _, info := range marker.NewSet().List() {
		m := Marker{Name: info.Name, On: info.On, Refused: info.Unsupported}
		for _, p := range info.Params {
			m.Arguments = append(m.Arguments, MarkerArgument(p))
		}
		list = append(list, m)
	}
	return list
}
