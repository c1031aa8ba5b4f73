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

// Severity is how much a change may break. They are ordered.
type Severity int

// The severities, from the least.
const (
	Compatible Severity = iota // nothing that worked stops working
	Risky                      // it works, but in another way
	Breaking                   // requests fail that worked, or data is lost
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

// MarshalText writes a severity as String does.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Change is one difference between two definitions.
type Change struct {
	Severity Severity `json:"severity"`

	Definition string `json:"definition"`        // its name, such as documents.docs.example.com
	Version    string `json:"version,omitempty"` // empty for what concerns all of them
	Path       string `json:"path,omitempty"`    // such as .spec.items[].name or .spec.labels[*]; empty for the whole

	// Rule is what has changed there, spelt as in a definition where that has a word for it: field, type, maxLength,
	// required, default, storage, …
	Rule string `json:"rule"`

	Old string `json:"old,omitempty"` // as JSON; empty when there was none
	New string `json:"new,omitempty"` // as JSON; empty when there is none
	Why string `json:"why"`           // what it means, and to whom
}

// ID names what has changed, such as documents.docs.example.com/v1.spec.title:maxLength. Patterns for [Accept] match it.
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
		return "new, is " + c.New
	case c.New == "":
		return "gone, was " + c.Old
	}
	return "was " + c.Old + ", is " + c.New
}

// sortChanges puts changes into the order in which they are listed.
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

// shown is how many bytes of a value a change shows at most.
const shown = 120

// text writes a value as JSON, in one line and not too long. An absent value is empty.
func text(v any) string {
	if v == nil {
		return ""
	}
	s := encode(v)
	if len(s) <= shown {
		return s
	}
	return strings.ToValidUTF8(s[:shown-len("…")], "") + "…"
}

// encode writes a value as JSON, in one line.
func encode(v any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Sprint(v)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// same reports whether two values are the same as JSON.
func same(a, b any) bool { return encode(a) == encode(b) }
