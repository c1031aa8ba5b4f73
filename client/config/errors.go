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
	// ErrNoConfig is wrapped by the errors of [Load] and [Read] if no kubeconfig that selects a context is found, and the
	// program does not run inside a cluster. The error lists every place that was searched.
	ErrNoConfig = errors.New("no kubeconfig found")
	// ErrNotInCluster is wrapped by the error of [InCluster] if the program does not run inside a cluster.
	ErrNotInCluster = errors.New("not inside a cluster")
	// ErrCertificateExpired is wrapped by errors that say when the client certificate expired.
	ErrCertificateExpired = errors.New("client certificate expired")
)

// FieldError is one mistake in a configuration: where it is, what is wrong, and what to do about it. Several mistakes
// are joined: errors.AsType finds the first of them.
type FieldError struct {
	// File is the kubeconfig. It is empty for a value that did not come from a file.
	File string
	// Stanza is `cluster "x"`, `user "x"` or `context "x"`; "override" for a value from [Options]; otherwise the Source of
	// the [Config].
	Stanza string
	// Field is the name of the field in the kubeconfig, or in Go for a value that did not come from a kubeconfig.
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

// place identifies the origin of a group of fields of a Config: a stanza, except for the fields that an override
// replaced.
type place struct {
	file, stanza string
	// overridden contains fields by their kubeconfig name.
	overridden map[string]bool
	// goNames selects the field names of Config for errors.
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

// replaced reports whether a field, or the field that contains it, came from an override.
func (p place) replaced(field string) bool {
	root, _, _ := strings.Cut(field, ".")
	return p.overridden[root]
}

// fieldName returns the name to use in an error.
func (p place) fieldName(field string) string {
	if p.goNames || p.replaced(field) {
		return goName(field)
	}
	return field
}

// goName returns the field of a Config, or of a struct in it, that corresponds to a kubeconfig field: "Exec.Command"
// for "exec.command". It uses the tags of the structs.
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

// missing returns the message for a name that is not in a list of stanzas. It includes the list and the most similar
// name.
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

// oneOf returns the end of a remedy that asks for a name from a list.
func oneOf(kind string, have []string) string {
	if len(have) == 0 {
		return fmt.Sprintf("one, and add it: the kubeconfig has no %ss", kind)
	}
	return fmt.Sprintf("one (%ss: %s)", kind, listNames(have))
}

// listNames returns the first twenty names, in quotes.
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

// nearest returns the name with the smallest edit distance, or "" if that is large for the length of the name.
func nearest(name string, have []string) string {
	best, bestDistance := "", max(2, len(name)/3)+1
	for _, candidate := range have {
		if d := spelling.Distance(strings.ToLower(name), strings.ToLower(candidate)); d < bestDistance {
			best, bestDistance = candidate, d
		}
	}
	return best
}
