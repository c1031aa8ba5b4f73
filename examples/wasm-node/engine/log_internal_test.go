// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strings"
	"testing"
)

// TestLogIsBounded checks that a log keeps its last lines, and that long lines are divided.
func TestLogIsBounded(t *testing.T) {
	log := newLog()
	s := log.stream()
	write := func(text string) {
		if n, err := s.Write([]byte(text)); n != len(text) || err != nil {
			t.Fatalf("Write = %d, %v", n, err)
		}
	}
	write("a")
	write("b\nc")
	s.flush()
	if lines, next, complete, _ := log.Read(1); next != 2 || complete || string(lines[0].Text) != "c" {
		t.Errorf("the log has %q, next %d, complete %t", lines, next, complete)
	}
	write(strings.Repeat("x", 3*maxLog))
	lines, next, _, _ := log.Read(0)
	size := 0
	for _, line := range lines {
		size += len(line.Text)
		if len(line.Text) > maxLine {
			t.Fatalf("a line has %d bytes", len(line.Text))
		}
	}
	if size > maxLog || size < maxLog/2 || next <= len(lines) {
		t.Errorf("the log has %d bytes in %d lines of %d", size, len(lines), next)
	}
}
