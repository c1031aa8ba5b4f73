// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package marker

import (
	"strings"
)

// Info describes a marker of a set.
type Info struct {
	Name        string
	On          []string
	Params      []ParamInfo
	Unsupported string // see [Set.Unsupported]
}

// ParamInfo describes an argument.
type ParamInfo struct {
	Name     string // empty for the value of the marker
	Value    string
	Required bool
}

// List describes the markers of the set, ordered by name. A marker with an items: form is listed twice.
func (s *Set) List() []Info {
	var list []Info
	for _, name := range s.names {
		d := s.byName[name]
		info := Info{Name: d.name, On: strings.Split(d.on.String(), " or "), Unsupported: d.unsupported}
		for _, p := range d.params {
			info.Params = append(info.Params, ParamInfo{p.name, p.kind.String(), p.required})
		}
		list = append(list, info)
		if d.items {
			info.Name = validation + itemsPrefix + strings.TrimPrefix(d.name, validation)
			list = append(list, info)
		}
	}
	return list
}
