// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import "fmt"

// Format prints the encoding and the size, and not the object, whatever the verb is: the object may be a secret.
func (p Packed) Format(f fmt.State, verb rune) {
	fmt.Fprintf(f, fmt.FormatString(f, verb), fmt.Sprintf("object of %d bytes in %s", len(p.data), p.encoding.MediaType()))
}

// Format prints the place of the document and its size, and not its content, whatever the verb is.
func (d RawDocument) Format(f fmt.State, verb rune) {
	fmt.Fprintf(f, fmt.FormatString(f, verb), d.text())
}

// MarshalText returns what Format prints. It serves logs and JSON, and cannot be read back.
func (d RawDocument) MarshalText() ([]byte, error) { return []byte(d.text()), nil }

func (d RawDocument) text() string {
	return fmt.Sprintf("document %d in line %d, %d bytes", d.Index, d.Line, len(d.JSON))
}
