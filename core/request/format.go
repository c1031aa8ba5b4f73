// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Format prints the method, the path, the names of the parameters and the size of the body for any verb. It prints no
// values: the body may be a Secret, and a parameter may be the command of an exec.
func (r Request) Format(f fmt.State, verb rune) {
	fmt.Fprintf(f, fmt.FormatString(f, verb), r.text())
}

// MarshalText returns the output of Format, for logs and JSON. It can't be decoded.
func (r Request) MarshalText() ([]byte, error) { return []byte(r.text()), nil }

func (r Request) text() string {
	text := r.Method + " " + r.Path
	if len(r.Query) > 0 {
		text += "?" + strings.Join(slices.Sorted(maps.Keys(r.Query)), "&")
	}
	if len(r.Body) > 0 {
		text += fmt.Sprintf(" (%d bytes of %s)", len(r.Body), r.ContentType)
	}
	return text
}

// Format prints the type of the patch for any verb. It does not print the content.
func (p Patch) Format(f fmt.State, verb rune) {
	fmt.Fprintf(f, fmt.FormatString(f, verb), "patch of type "+p.contentType)
}
