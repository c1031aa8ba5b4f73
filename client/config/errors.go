// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/kube-go/sdk/client/internal/spelling"
)

var (
	// ErrNoConfig is wrapped by the error of [Load] and [Read] when there is no kubeconfig, or none that chooses a
	// context, and the program does not run inside a cluster. The error names every place that was looked at.
	ErrNoConfig = errors.New("no kubeconfig found")
	// ErrNotInCluster is wrapped by the error of [InCluster] when the program does not run inside a cluster.
	ErrNotInCluster = errors.New("not inside a cluster")
	// ErrCertificateExpired is wrapped by errors that say since when the client certificate has been of no use.
	ErrCertificateExpired = errors.New("client certificate expired")
)

// FieldError is one mistake in a configuration: where it is, what it is, and what to do about it.
// When there are several, they are joined: errors.AsType finds the first of them.
type FieldError struct {
	// File is the kubeconfig, or empty for what did not come from one.
	File string
	// Stanza is `cluster "x"`, `user "x"` or `context "x"`; "override" for what came from [Options]; else the Source of
	// the [Config].
	Stanza string
	// Field is the name of the field as it is written in the kubeconfig, or else in Go.
	Field string
	// Problem says what is wrong.
	Problem string
	// Remedy says what to do.
	Remedy string
	// Err is the cause, or nil.
	Err error
}

// Error returns the mistake as one line: "FILE: user "ann": client-key: PROBLEM: REMEDY".
func (e *FieldError) Error() string {
	parts := []string{e.File, e.Stanza, e.Field, e.Problem, e.Remedy}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ": ")
}

// Unwrap returns the cause.
func (e *FieldError) Unwrap() error { return e.Err }

// place is the origin of one part of a Config: a stanza, except for the fields that an override replaced.
type place struct {
	file, stanza string
	// overridden holds fields by their kubeconfig name.
	overridden map[string]bool
	// goNames makes errors use the field names of Config.
	goNames bool
}

func (p place) errorf(field, remedy, problem string, args ...any) *FieldError {
	e := &FieldError{File: p.file, Stanza: p.stanza, Field: field, Problem: fmt.Sprintf(problem, args...), Remedy: remedy}
	if p.replaced(field) {
		e.File, e.Stanza = "", "override"
	}
	e.Field = p.fieldName(field)
	return e
}

// replaced tells whether a field, or the one it is a part of, came from an override.
func (p place) replaced(field string) bool {
	root, _, _ := strings.Cut(field, ".")
	return p.overridden[root]
}

// fieldName is the name to use in an error.
func (p place) fieldName(field string) string {
	if p.goNames || p.replaced(field) {
		return goName(field)
	}
	return field
}

// goName is the field of a Config, or of a struct in it, that a kubeconfig field ends up in: "Exec.Command" for
// "exec.command". The tags of the structs say so.
func goName(field string) string {
	t := reflect.TypeFor[Config]()
	var path []string
	for name := range strings.SplitSeq(field, ".") {
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		for _, f := range wireFields(t) {
			if f.name == name {
				path = append(path, t.Field(f.index).Name)
				t = t.Field(f.index).Type
				break
			}
		}
	}
	return strings.Join(path, ".")
}

// missing says that a name is not in a list of stanzas, shows the list, and suggests the nearest.
func missing(kind, name string, have []string) string {
	if len(have) == 0 {
		return fmt.Sprintf("%s %q does not exist: there are no %ss", kind, name, kind)
	}
	text := fmt.Sprintf("%s %q does not exist", kind, name)
	if near := nearest(name, have); near != "" {
		text += fmt.Sprintf(": did you mean %q?", near)
	}
	return text + fmt.Sprintf(" (%ss: %s)", kind, listNames(have))
}

// oneOf asks for a name out of a list.
func oneOf(kind string, have []string) string {
	if len(have) == 0 {
		return fmt.Sprintf("one, and add it: there are no %ss", kind)
	}
	return fmt.Sprintf("one (%ss: %s)", kind, listNames(have))
}

// listNames quotes names, the first twenty of them.
func listNames(list []string) string {
	const most = 20
	quoted := make([]string, 0, len(list))
	for _, name := range list[:min(len(list), most)] {
		quoted = append(quoted, fmt.Sprintf("%q", name))
	}
	text := strings.Join(quoted, ", ")
	if len(list) > most {
		text += fmt.Sprintf(" and %d more", len(list)-most)
	}
	return text
}

// nearest returns the name that is the fewest edits away, if those are few for its length.
func nearest(name string, have []string) string {
	best, bestDistance := "", max(2, len(name)/3)+1
	for _, candidate := range have {
		if d := spelling.Distance(strings.ToLower(name), strings.ToLower(candidate)); d < bestDistance {
			best, bestDistance = candidate, d
		}
	}
	return best
}
