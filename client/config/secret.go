// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"io"
	"log/slog"
)

// redacted stands in print for a secret that is there.
const redacted = "[redacted]"

// Secret is text that must not be printed: a token, a password, a private key.
//
// Every way of printing it (fmt, slog, JSON, text) shows "[redacted]", or nothing when it is empty.
// string(s) gives the secret itself. Because a secret is not printed, it also does not survive being marshalled.
//
// fmt cannot call the methods of an unexported field: keep a *[Config], which %v prints as an address, and not a Config
// or a Secret in the unexported fields of types that may be printed.
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

// Format prints the redacted form whatever the verb is.
func (s Secret) Format(f fmt.State, verb rune) { formatRedacted(f, verb, s.String(), s.GoString()) }

// MarshalText returns the redacted form; it serves JSON too.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue returns the redacted form.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// formatRedacted prints text that is already safe: goText for %#v, quoted for %q, else as it is.
func formatRedacted(f fmt.State, verb rune, text, goText string) {
	switch {
	case verb == 'v' && f.Flag('#'):
		text = goText
	case verb == 'q':
		text = fmt.Sprintf("%q", text)
	}
	_, _ = io.WriteString(f, text) // fmt.State collects; an error of the writer behind it is fmt's to report
}
