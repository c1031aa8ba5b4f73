// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package marker

import (
	"strings"

	"github.com/kube-go/sdk/derive/internal/suggest"
)

// unknown says that there is no such marker, and which one may have been meant.
func (s *Set) unknown(name, prefix string, among func(*definition) bool) error {
	var names []string
	for _, n := range s.names {
		if among(s.byName[n]) {
			names = append(names, n)
		}
	}
	if near := nearestMarker(name, names); near != "" {
		return errorAt(0, "unknown marker %s%s; did you mean %s?", prefix, name, s.byName[near].spelling(false))
	}
	return errorAt(0, "unknown marker %s%s", prefix, name)
}

// unknownTheirs decides whether a name that is not defined is ours to complain about: everything under kubebuilder: is,
// and so is a misspelling of one of the names outside of it.
func (s *Set) unknownTheirs(text string) error {
	name := strings.TrimPrefix(text, "+")
	if i := strings.IndexAny(name, "= \t(#"); i >= 0 {
		name = name[:i]
	}
	namespace, _, nested := strings.Cut(name, ":")
	theirs := func(d *definition) bool { return !d.our && !d.declarative }
	switch {
	case namespace == "kubebuilder" || nested && suggest.Distance(namespace, "kubebuilder") <= 2:
		return s.unknown(name, "+", theirs)
	case namespace == "kube":
		return s.unknown(name, "+", func(d *definition) bool { return d.our })
	}
	for _, n := range s.names {
		if s.byName[n].our || strings.HasPrefix(n, "kubebuilder:") || strings.HasPrefix(n, "k8s:") != (namespace == "k8s") {
			continue
		}
		if len(n) > 4 && suggest.Distance(strings.ToLower(name), strings.ToLower(n)) <= 2 {
			return errorAt(0, "unknown marker +%s; did you mean +%s?", name, n)
		}
	}
	return nil
}

// nearestMarker finds the name that was most likely meant: one with the same last part, or one few letters away.
func nearestMarker(name string, names []string) string {
	best, bestDistance := "", 1<<30
	lower := strings.ToLower(name)
	for _, n := range names {
		parts := strings.Split(lower, ":")
		want := strings.Count(n, ":") + 1
		d := suggest.Distance(strings.Join(parts[:min(want, len(parts))], ":"), strings.ToLower(n))
		if sameEnd := parts[min(want, len(parts))-1]; sameEnd == lastPart(strings.ToLower(n)) {
			d = min(d, 1)
		}
		if d < bestDistance {
			best, bestDistance = n, d
		}
	}
	if bestDistance > max(2, len(lastPart(best))/3) {
		return ""
	}
	return best
}

func lastPart(name string) string { return name[strings.LastIndexByte(name, ':')+1:] }
