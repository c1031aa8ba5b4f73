// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package evolution

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Severity is the impact of a change. Severities are ordered.
type Severity int

// The severities, from the lowest to the highest.
const (
	Compatible Severity = iota // existing clients and objects are not affected
	Risky                      // requests still succeed, but with other results
	Breaking                   // requests that succeeded fail, or data is lost
)

// String returns compatible, risky or breaking.
func (s Severity) String() string {
	switch s {
	case Compatible:
		return "compatible"
	case Risky:
		return "risky"
	case Breaking:
		return "breaking"
	}
	return fmt.Sprintf("Severity(%d)", int(s))
}

// MarshalText returns the same text as String.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Change is one difference between two definitions.
type Change struct {
	Severity Severity `json:"severity"`

	Definition string `json:"definition"`        // its name, for example documents.docs.example.com
	Version    string `json:"version,omitempty"` // empty for a change of all versions
	Path       string `json:"path,omitempty"`    // for example .spec.items[].name or .spec.labels[*]; empty for the root

	// Rule is the property that has changed. It has the name of the property in a definition, if there is one: field,
	// type, maxLength, required, default, storage, …
	Rule string `json:"rule"`

	Old string `json:"old,omitempty"` // the old value as JSON; empty if it was absent
	New string `json:"new,omitempty"` // the new value as JSON; empty if it is absent
	Why string `json:"why"`           // the effect on stored objects, writers and readers
}

// ID identifies the change, for example documents.docs.example.com/v1.spec.title:maxLength. The patterns of [Accept]
// match IDs.
func (c Change) ID() string {
	id := c.Definition
	if c.Version != "" {
		id += "/" + c.Version
	}
	return id + c.Path + ":" + c.Rule
}

// String returns the change in one line.
func (c Change) String() string {
	return fmt.Sprintf("%s %s: %s: %s", c.Severity, c.ID(), c.difference(), c.Why)
}

func (c Change) difference() string {
	switch {
	case c.Old == "" && c.New == "":
		return "changed"
	case c.Old == "":
		return "added: " + c.New
	case c.New == "":
		return "removed: " + c.Old
	}
	return c.Old + " → " + c.New
}

// sortChanges sorts changes by definition, version, path, rule and values.
func sortChanges(changes []Change) {
	slices.SortStableFunc(changes, func(a, b Change) int {
		return cmp.Or(
			cmp.Compare(a.Definition, b.Definition),
			cmp.Compare(a.Version, b.Version),
			cmp.Compare(a.Path, b.Path),
			cmp.Compare(a.Rule, b.Rule),
			cmp.Compare(a.Old, b.Old),
			cmp.Compare(a.New, b.New),
		)
	})
}

// maxValueBytes is the maximum length of a value in a change.
const maxValueBytes = 120

// text encodes a value as one line of JSON, shortened to maxValueBytes. It returns "" for an absent value.
func text(v any) string {
	if v == nil {
		return ""
	}
	s := encode(v)
	if len(s) <= maxValueBytes {
		return s
	}
	return strings.ToValidUTF8(s[:maxValueBytes-len("…")], "") + "…"
}

// encode encodes a value as one line of JSON.
func encode(v any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Sprint(v)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// same reports whether two values have the same JSON.
func same(a, b any) bool { return encode(a) == encode(b) }
