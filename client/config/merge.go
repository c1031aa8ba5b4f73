// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"cmp"
	"slices"
)

// Merge merges kubeconfigs into one. For each name the first stanza is used as a whole, and for each single value the
// first that is set. Merge does not change its arguments; the result shares data with them.
func Merge(kubeconfigs ...*Kubeconfig) *Kubeconfig {
	out := new(Kubeconfig)
	for _, kc := range kubeconfigs {
		out.APIVersion = cmp.Or(out.APIVersion, kc.APIVersion)
		out.Kind = cmp.Or(out.Kind, kc.Kind)
		out.CurrentContext = cmp.Or(out.CurrentContext, kc.CurrentContext)
		if len(out.Preferences) == 0 && string(kc.Preferences) != "{}" {
			out.Preferences = kc.Preferences
		}
		for _, s := range sections() {
			mergeList(s.of(out), s.of(kc))
		}
		for name, raw := range kc.Unknown {
			if out.Unknown == nil {
				out.Unknown = Unknown{}
			}
			if _, ok := out.Unknown[name]; !ok {
				out.Unknown[name] = raw
			}
		}
		for _, file := range kc.Origins {
			if !slices.Contains(out.Origins, file) {
				out.Origins = append(out.Origins, file)
			}
		}
	}
	return out
}

// mergeList adds the entries of a list whose names do not occur yet.
func mergeList(to, from list) {
	seen := map[string]bool{}
	for _, name := range keys(to) {
		seen[name] = true
	}
	for _, e := range from.entries() {
		if !seen[e.key()] {
			seen[e.key()] = true
			to.put(-1, e)
		}
	}
}
