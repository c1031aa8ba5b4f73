// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package marker

import (
	"slices"
	"strings"
)

// unknown says that there is no such marker, and which one may have been meant.
func (s *Set) unknown(at int, name, prefix string, among func(*definition) bool) error {
	var names []string
	for _, n := range s.names {
		if among(s.byName[n]) {
			names = append(names, n)
		}
	}
	if near := nearestMarker(name, names); near != "" {
		return errorAt(at, "unknown marker %s%s; did you mean %s?", prefix, name, s.byName[near].spelling(false))
	}
	return errorAt(at, "unknown marker %s%s", prefix, name)
}

// unknownTheirs decides whether a name that is not defined is ours to complain about: everything under kubebuilder: is,
// and so is a misspelling of one of the names outside of it.
func (s *Set) unknownTheirs(text string) error {
	name := strings.TrimPrefix(text, "+")
	if i := strings.IndexAny(name, "= \t"); i >= 0 {
		name = name[:i]
	}
	namespace, _, nested := strings.Cut(name, ":")
	theirs := func(d *definition) bool { return !d.our }
	switch {
	case namespace == "kubebuilder" || nested && distance(namespace, "kubebuilder") <= 2:
		return s.unknown(0, name, "+", theirs)
	case namespace == "kube":
		return s.unknown(0, name, "+", func(d *definition) bool { return d.our })
	}
	if s.foreign(name) {
		return nil
	}
	for _, n := range s.names {
		if s.byName[n].our || strings.HasPrefix(n, "kubebuilder:") || strings.HasPrefix(n, "k8s:") != (namespace == "k8s") {
			continue
		}
		if len(n) > 4 && distance(strings.ToLower(name), strings.ToLower(n)) <= 2 {
			return errorAt(0, "unknown marker +%s; did you mean +%s?", name, n)
		}
	}
	return nil
}

// foreign reports whether other tools know a name that is close to one of ours.
func (s *Set) foreign(name string) bool {
	return slices.Contains([]string{"k8s:item", "k8s:items"}, name)
}

// nearestMarker finds the name that was most likely meant: one with the same last part, or one few letters away.
func nearestMarker(name string, names []string) string {
	best, bestDistance := "", 1<<30
	lower := strings.ToLower(name)
	for _, n := range names {
		parts := strings.Split(lower, ":")
		want := strings.Count(n, ":") + 1
		d := distance(strings.Join(parts[:min(want, len(parts))], ":"), strings.ToLower(n))
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

// nearest finds the candidate that was most likely meant, "" when none is close.
func nearest(word string, candidates []string) string {
	best, bestDistance := "", 1<<30
	for _, c := range candidates {
		if d := distance(strings.ToLower(word), strings.ToLower(c)); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	if bestDistance > max(1, len(best)/3) {
		return ""
	}
	return best
}

// Nearest finds the candidate that was most likely meant by a word, "" when none is close.
func Nearest(word string, candidates []string) string { return nearest(word, candidates) }

// distance is how many letters must be added, removed, replaced or swapped with their neighbour.
func distance(a, b string) int {
	if a == b {
		return 0
	}
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
