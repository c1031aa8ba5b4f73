// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package structural

import (
	"fmt"
	"maps"
	"slices"
)

// CheckKeys returns an error for the first list of type map whose keys are neither required nor have a default, which
// servers reject. Some types of Kubernetes itself have such lists.
func (s *Schema) CheckKeys() error { return s.checkKeys("") }

func (s *Schema) checkKeys(path string) error {
	if s == nil {
		return nil
	}
	if s.ListType == "map" && s.Items != nil {
		for _, key := range s.ListMapKeys {
			p := s.Items.Properties[key]
			if p == nil || p.Default == nil && !slices.Contains(s.Items.Required, key) {
				return fmt.Errorf("%s: the +listMapKey %q is optional, so API servers reject the list: "+
					"remove the field, or use your own type with a required key", path, key)
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
