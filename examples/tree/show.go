// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kube-go/sdk/examples/internal/plain"
)

// show prints a tree. An object that is not in the namespace of its parent has its namespace in the line.
func show(out io.Writer, top *node, now time.Time) error {
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "OBJECT\tREADY\tAGE")
	// The prefix head is for the line of the object, tail for the lines of its children.
	var draw func(n, parent *node, head, tail string)
	draw = func(n, parent *node, head, tail string) {
		age := "?"
		if !n.meta.CreationTimestamp.IsZero() {
			age = duration.HumanDuration(now.Sub(n.meta.CreationTimestamp.Time))
		}
		name := n.ref.Kind + "/" + n.meta.Name
		if n.meta.Namespace != parent.meta.Namespace {
			name += " in " + n.meta.Namespace
		}
		if n.again {
			name += " (see above)"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\n", head+plain.Text(name), cmp.Or(plain.Text(n.ready), "-"), age)
		for i, child := range n.children {
			if i < len(n.children)-1 {
				draw(child, n, tail+"├─", tail+"│ ")
			} else {
				draw(child, n, tail+"└─", tail+"  ")
			}
		}
	}
	draw(top, top, "", "")
	return table.Flush()
}
