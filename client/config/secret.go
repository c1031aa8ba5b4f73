// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"io"
	"log/slog"
)

// redacted is printed in place of a secret that is not empty.
const redacted = "[redacted]"

// Secret is a string that must not be printed: a token, a password, a private key.
//
// Every way of printing it (fmt, slog, JSON, text) shows "[redacted]", or nothing if it is empty. string(s) returns the
// secret itself. For the same reason, marshaling a secret loses it.
//
// fmt cannot call the methods of an unexported field. In the unexported fields of types that may be printed, use a
// *[Config], which %v prints as an address, instead of a Config or a Secret.
type Secret string

// String returns "[redacted]", or "" for the empty secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return redacted
}

// GoString returns the redacted form in quotes.
func (s Secret) GoString() string { return fmt.Sprintf("config.Secret(%q)", s.String()) }

// Format prints the redacted form, whatever the verb.
func (s Secret) Format(f fmt.State, verb rune) { formatRedacted(f, verb, s.String(), s.GoString()) }

// MarshalText returns the redacted form. JSON uses it too.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue returns the redacted form.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// formatRedacted prints text, which contains no secrets: goText for %#v, quoted for %q, unchanged otherwise.
func formatRedacted(f fmt.State, verb rune, text, goText string) {
	switch {
	case verb == 'v' && f.Flag('#'):
		text = goText
	case verb == 'q':
		text = fmt.Sprintf("%q", text)
	}
	_, _ = io.WriteString(f, text) // fmt reports errors of the underlying writer
}
