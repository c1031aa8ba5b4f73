// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import "fmt"

// Format prints the encoding and the size for any verb. It does not print the object, which may be secret.
func (p Packed) Format(f fmt.State, verb rune) {
	fmt.Fprintf(f, fmt.FormatString(f, verb), fmt.Sprintf("object of %d bytes in %s", len(p.data), p.encoding.MediaType()))
}

// Format prints the position and the size of the document for any verb. It does not print the content.
func (d RawDocument) Format(f fmt.State, verb rune) {
	fmt.Fprintf(f, fmt.FormatString(f, verb), d.text())
}

// MarshalText returns the output of Format, for logs and JSON. It can't be decoded.
func (d RawDocument) MarshalText() ([]byte, error) { return []byte(d.text()), nil }

func (d RawDocument) text() string {
	return fmt.Sprintf("document %d in line %d, %d bytes", d.Index, d.Line, len(d.JSON))
}
