// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package core

import "fmt"

// Format prints the text of the error, and not its Body, whatever the verb is.
func (e *StatusError) Format(f fmt.State, verb rune) {
	fmt.Fprintf(f, fmt.FormatString(f, verb), e.Error())
}
