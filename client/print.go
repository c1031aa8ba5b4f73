// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import "fmt"

// Format prints the address of the server, and nothing of the configuration, whatever the verb is.
func (c *Client) Format(f fmt.State, verb rune) {
	text := "client without a server"
	if c != nil && c.base != nil {
		text = "client of " + c.base.String()
	}
	fmt.Fprintf(f, fmt.FormatString(f, verb), text)
}
