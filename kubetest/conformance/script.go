// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// script is a file of cases about one subject.
type script struct {
	path  string
	setup section // the steps before the first case
	cases []section
}

// section is a case, or the setup of a script.
type section struct {
	header string // the whole line; empty for the setup
	steps  []*step
}

// step is one request, or one wait for events.
type step struct {
	line int // the number of its first line in the file

	request  []string // the lines as they are in the file
	response []string // likewise

	verb    string
	args    []string          // the rest of the first line
	options map[string]string // by their names, without @
	body    string
}

// name returns the name of the script's test.
func (s *script) name() string { return strings.TrimSuffix(path.Base(s.path), ".txt") }

// name returns the claim of a case.
func (s section) name() string { return strings.TrimPrefix(s.header, "== ") }

// String returns the script as it is in its file.
func (s *script) String() string {
	var b strings.Builder
	for _, part := range append([]section{s.setup}, s.cases...) {
		if part.header != "" {
			b.WriteString(part.header + "\n\n")
		}
		for _, st := range part.steps {
			b.WriteString(strings.Join(append(slices.Clone(st.request), st.response...), "\n") + "\n\n")
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// parseScript parses the text of a file.
func parseScript(path, text string) (*script, error) {
	s := &script{path: path}
	current := &s.setup
	block, start := []string{}, 0
	for i, line := range append(strings.Split(text, "\n"), "") {
		switch {
		case strings.HasPrefix(line, "== "):
			s.cases = append(s.cases, section{header: line})
			current = &s.cases[len(s.cases)-1]
		case line != "":
			if len(block) == 0 {
				start = i + 1
			}
			block = append(block, line)
		case len(block) > 0:
			st, err := parseStep(block)
			if err != nil {
				return nil, fmt.Errorf("%s:%d: %w", path, start, err)
			}
			st.line = start
			current.steps = append(current.steps, st)
			block = nil
		}
	}
	return s, nil
}

// parseStep parses the lines of a step.
func parseStep(lines []string) (*step, error) {
	st := &step{options: map[string]string{}, request: lines}
	if i := slices.IndexFunc(lines, isResponse); i >= 0 {
		st.request, st.response = lines[:i], lines[i:]
	}
	var body []string
	for _, line := range st.request {
		switch {
		case strings.HasPrefix(line, "#"):
		case st.verb == "":
			fields := strings.SplitN(line, " ", 3)
			st.verb, st.args = fields[0], fields[1:]
		case strings.HasPrefix(line, "@"):
			name, value, _ := strings.Cut(line[1:], " ")
			st.options[name] = value
		default:
			body = append(body, line)
		}
	}
	st.body = strings.Join(body, "\n")
	return st, st.check()
}

func isResponse(line string) bool { return strings.HasPrefix(line, "-> ") }

// check returns an error for a step that can't run. A step that has only comments is valid.
func (st *step) check() error {
	want := 1
	switch st.verb {
	case "":
		want = 0
	case "WATCH", "EVENTS":
		want = 2
	default:
		// Spaces in a query are part of it.
		st.args = []string{strings.Join(st.args, " ")}
	}
	if len(st.args) != want {
		return fmt.Errorf("%s has %d arguments instead of %d", st.verb, len(st.args), want)
	}
	return nil
}
