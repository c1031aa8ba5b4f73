// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"github.com/kube-go/sdk/derive/internal/marker"
)

// Marker describes a marker that kube-derive knows.
type Marker struct {
	Name      string   // such as "kubebuilder:validation:MaxLength"
	On        []string // where it may stand: "package", "type", "field", "constant"
	Arguments []MarkerArgument

	// Refused says why a CRD can't say what the marker does. It is an error on the types of one's own.
	Refused string
}

// MarkerArgument describes what a marker takes.
type MarkerArgument struct {
	Name     string // "" for the value of the marker itself
	Value    string // what it looks like, such as "a number"
	Required bool
}

// Markers lists the markers that there are, ordered by name, for editors and documentation.
func Markers() []Marker {
	var list []Marker
	for _, info := range marker.NewSet().List() {
		m := Marker{Name: info.Name, On: info.On, Refused: info.Unsayable}
		for _, p := range info.Params {
			m.Arguments = append(m.Arguments, MarkerArgument(p))
		}
		list = append(list, m)
	}
	return list
}
