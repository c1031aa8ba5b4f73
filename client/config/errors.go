// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

var (
	// ErrNoConfig is wrapped by the error of [Load] and [Read] when there is no kubeconfig, or nothing in it, and the
	// program does not run inside a cluster. The error names every place that was looked at.
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
	if p.overridden[field] {
		e.File, e.Stanza = "", "override"
	}
	if p.goNames || p.overridden[field] {
		e.Field = goNames[field]
	}
	return e
}

// goNames maps kubeconfig fields to those of Config. Never written.
var goNames = map[string]string{
	"server":                     "Server",
	"namespace":                  "Namespace",
	"tls-server-name":            "TLSServerName",
	"insecure-skip-tls-verify":   "InsecureSkipTLSVerify",
	"certificate-authority":      "CAFile",
	"certificate-authority-data": "CAData",
	"client-certificate":         "ClientCertFile",
	"client-certificate-data":    "ClientCertData",
	"client-key":                 "ClientKeyFile",
	"client-key-data":            "ClientKeyData",
	"token":                      "BearerToken",
	"tokenFile":                  "BearerTokenFile",
	"username":                   "Username",
	"password":                   "Password",
	"as":                         "Impersonate",
	"exec":                       "Exec",
	"auth-provider":              "AuthProvider",
	"proxy-url":                  "ProxyURL",
	"disable-compression":        "DisableCompression",
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
		if d := distance(strings.ToLower(name), strings.ToLower(candidate)); d < bestDistance {
			best, bestDistance = candidate, d
		}
	}
	return best
}

// distance counts the bytes to insert, delete or replace to get from a to b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
