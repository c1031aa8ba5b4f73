// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package structural

import (
	"fmt"
	"maps"
	"slices"
)

// CheckKeys reports the first list whose items may lack one of the keys that tell them apart, which servers refuse. The
// types of Kubernetes itself have some.
func (s *Schema) CheckKeys() error { return s.checkKeys("") }

func (s *Schema) checkKeys(path string) error {
	if s == nil {
		return nil
	}
	if s.ListType == "map" && s.Items != nil {
		for _, key := range s.ListMapKeys {
			p := s.Items.Properties[key]
			if p == nil || p.Default == nil && !slices.Contains(s.Items.Required, key) {
				return fmt.Errorf("%s: items may lack %q, which is a +listMapKey, so servers refuse the list: "+
					"leave the field out, or use a type of your own where the key is required", path, key)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if err := s.Properties[name].checkKeys(path + "." + name); err != nil {
			return err
		}
	}
	if err := s.Items.checkKeys(path + "[]"); err != nil {
		return err
	}
	return s.AdditionalProperties.checkKeys(path + ".*")
}
