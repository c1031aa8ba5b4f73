// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package core

import "fmt"

// Format prints the text of the error for any verb. It does not print the Body.
func (e *StatusError) Format(f fmt.State, verb rune) {
	fmt.Fprintf(f, fmt.FormatString(f, verb), e.Error())
}
