// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package marker

import (
	"slices"
	"strings"

	"github.com/kube-go/sdk/derive/internal/suggest"
)

// The markers among which a suggestion is searched, in this order.
func theirs(d *definition) bool       { return !d.our && !d.declarative }
func ours(d *definition) bool         { return d.our }
func declaratives(d *definition) bool { return d.declarative }

// unknown returns the error of an unknown marker, with a suggestion.
func (s *Set) unknown(name, prefix string, among ...func(*definition) bool) error {
	sought, items := name, false
	if rest, ok := strings.CutPrefix(name, validation+itemsPrefix); ok {
		sought, items = validation+rest, true
	}
	for _, is := range among {
		if near := s.near(sought, items, is); near != "" {
			return errorAt(0, "unknown marker %s%s; did you mean %s?", prefix, name, s.byName[near].spelling(items))
		}
	}
	return errorAt(0, "unknown marker %s%s", prefix, name)
}

// near returns the most similar name of a marker, or "" if none is similar.
func (s *Set) near(name string, items bool, is func(*definition) bool) string {
	return nearestMarker(name, slices.DeleteFunc(slices.Clone(s.names), func(n string) bool {
		d := s.byName[n]
		return !is(d) || d.unsupported != "" || items && !d.items
	}))
}

// unknownTheirs returns an error for an undefined name, unless the name may be for another generator. Names with the
// prefix kubebuilder: are errors, names with the prefix k8s: that no other generator has, and misspellings of other
// names.
func (s *Set) unknownTheirs(text string) error {
	name := strings.TrimPrefix(text, "+")
	if i := strings.IndexAny(name, "= \t(#"); i >= 0 {
		name = name[:i]
	}
	namespace, rest, nested := strings.Cut(name, ":")
	switch {
	case foreign(name):
		return nil
	case namespace == "kubebuilder", strings.HasPrefix(namespace, "kubebuilder."), nested && suggest.Distance(namespace, "kubebuilder") <= 2:
		return s.unknown(name, "+", theirs, declaratives)
	case nested && headless(namespace):
		return errorAt(0, "unknown marker +%s; did you mean +kubebuilder:%[1]s?", name)
	case namespace == "kube":
		return s.unknown(name, "+", ours, theirs)
	case namespace == "k8s" && !foreignToCRDs(rest):
		return s.unknown(name, "+", declaratives, theirs)
	case namespace == "k8s":
		return nil
	}
	for _, n := range s.names {
		if !strings.Contains(n, ":") && len(n) > 4 && suggest.Distance(strings.ToLower(name), strings.ToLower(n)) <= 2 {
			return errorAt(0, "unknown marker +%s; did you mean +%s?", name, n)
		}
	}
	if s.byName[validation+name] != nil {
		return errorAt(0, "unknown marker +%s; did you mean +%s?", name, validation+name)
	}
	return nil
}

// foreign reports whether a name that looks like a misspelling is a marker of another generator. Markers such as those
// of genclient: and crossplane: do not look like misspellings.
func foreign(name string) bool {
	return name == "groupGoName" // of client-gen
}

// headless reports whether a name has the form of the first versions of kubebuilder, which had no prefix.
func headless(namespace string) bool {
	switch namespace {
	case "validation", "rbac", "webhook", "printcolumn", "object":
		return true
	}
	return false
}

// foreignToCRDs reports whether a name with the prefix k8s: is for another generator of Kubernetes.
func foreignToCRDs(name string) bool {
	generator, _, _ := strings.Cut(name, ":")
	switch generator {
	case "openapi-model-package", "conversion-fn", "isSubresource", "supportsSubresource", "deprecated":
		return true
	}
	return strings.Contains(generator, "-gen")
}

// withoutPlus returns an error for a marker without its plus, with another sign, or with a space after the plus. Other
// generators silently ignore such a line.
func (s *Set) withoutPlus(text string) error {
	name := strings.TrimLeft(text, "+@ \t")
	plus, namespaced := strings.HasPrefix(text, "+"), strings.HasPrefix(name, "kubebuilder:")
	if !plus && !namespaced { // prose
		return nil
	}
	d, _, end := s.lookup("+" + name)
	if d == nil {
		if plus && namespaced {
			return s.unknownTheirs("+" + name)
		}
		return nil
	}
	switch rest := ("+" + name)[end:]; {
	case rest == "", rest[0] == '=', rest[0] == '(', rest[0] == ':' && !strings.HasPrefix(rest, ": "):
	default: // a sentence that begins with the name of a marker
		return nil
	}
	return errorAt(0, "write %s: the plus precedes the name directly", d.spelling(false))
}

// nearestMarker returns the most similar name: one with the same last part, one with a small edit distance, or one of
// which the text is a prefix.
func nearestMarker(name string, names []string) string {
	best, bestDistance := "", 1<<30
	lower := strings.ToLower(name)
	for _, n := range names {
		if d := distance(lower, strings.ToLower(n)); d < bestDistance {
			best, bestDistance = n, d
		}
	}
	switch {
	case bestDistance <= max(2, len(lastPart(best))/3):
		return best
	case lastPart(name) == "":
		return ""
	}
	return suggest.Beginning(name, names)
}

// distance returns the edit distance of a name and a known one. Arguments may follow the name, and are ignored.
func distance(name, known string) int {
	parts, want := strings.Split(name, ":"), strings.Count(known, ":")+1
	begin := parts[:min(want, len(parts))]
	d := suggest.Distance(strings.Join(begin, ":"), known)
	if last := lastPart(known); last == begin[len(begin)-1] || last == parts[len(parts)-1] {
		d = min(d, 1)
	}
	return d
}

func lastPart(name string) string { return name[strings.LastIndexByte(name, ':')+1:] }
