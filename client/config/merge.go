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
		out.Clusters = mergeList(out.Clusters, kc.Clusters)
		out.Users = mergeList(out.Users, kc.Users)
		out.Contexts = mergeList(out.Contexts, kc.Contexts)
		out.Extensions = mergeList(out.Extensions, kc.Extensions)
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

func mergeList[T named](have, more []T) []T {
	seen := make(map[string]bool, len(have)+len(more))
	for _, item := range have {
		seen[item.key()] = true
	}
	for _, item := range more {
		if !seen[item.key()] {
			seen[item.key()] = true
			have = append(have, item)
		}
	}
	return have
}
