// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/duration"
)

// line is a line of the output.
type line struct{ name, ready, age string }

// show prints a tree.
func show(out io.Writer, top *node, now time.Time) error {
	lines := []line{{"OBJECT", "READY", "AGE"}}
	draw(top, "", "", now, &lines)
	var name, ready int // widths
	for _, l := range lines {
		name, ready = max(name, utf8.RuneCountInString(l.name)), max(ready, utf8.RuneCountInString(l.ready))
	}
	for _, l := range lines {
		if _, err := fmt.Fprintf(out, "%-*s   %-*s   %s\n", name, l.name, ready, l.ready, l.age); err != nil {
			return err
		}
	}
	return nil
}

// draw appends the lines of an object and its children. The prefix head is for the line of the object, tail for the
// lines of its children.
func draw(n *node, head, tail string, now time.Time, lines *[]line) {
	age := "?"
	if !n.meta.CreationTimestamp.IsZero() {
		age = duration.HumanDuration(now.Sub(n.meta.CreationTimestamp.Time))
	}
	name := n.ref.Kind + "/" + n.meta.Name
	if n.again {
		name += " (see above)"
	}
	*lines = append(*lines, line{head + plain(name), cmp.Or(plain(n.ready), "-"), age})
	for i, child := range n.children {
		if i < len(n.children)-1 {
			draw(child, tail+"├─", tail+"│ ", now, lines)
		} else {
			draw(child, tail+"└─", tail+"  ", now, lines)
		}
	}
}

// plain replaces control characters, so that text from the cluster cannot add lines or control the terminal.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s)
}
