// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"

	"sigs.k8s.io/yaml"
)

// positionError is a mistake in the form of the text. The line counts from 1; 0 is not known.
type positionError struct {
	line    int
	problem string
}

func (e *positionError) Error() string { return e.problem }

// decodeYAML returns each document of the text as JSON.
func decodeYAML(data []byte) ([]json.RawMessage, error) {
	var docs []json.RawMessage
	for _, doc := range splitDocuments(decodeText(data)) {
		raw, err := yaml.YAMLToJSONStrict(doc.text) // strict: a key that is there twice is an error
		if err != nil {
			return nil, yamlError(err, doc.line)
		}
		docs = append(docs, raw)
	}
	return docs, nil
}

// decodeText turns text that begins with a byte order mark into UTF-8 without one.
func decodeText(data []byte) []byte {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(data, []byte("\xef\xbb\xbf")):
		return data[3:]
	case bytes.HasPrefix(data, []byte("\xff\xfe")):
		order = binary.LittleEndian
	case bytes.HasPrefix(data, []byte("\xfe\xff")):
		order = binary.BigEndian
	default:
		return data
	}
	units := make([]uint16, 0, len(data)/2)
	for rest := data[2:]; len(rest) >= 2; rest = rest[2:] {
		units = append(units, order.Uint16(rest))
	}
	return []byte(string(utf16.Decode(units)))
}

// document is one YAML document and the number of lines before it.
type document struct {
	text []byte
	line int
}

// splitDocuments cuts before each line "---" and at each line "...", as the YAML parser reads one document only.
// What precedes the first content (comments, directives) stays with it.
func splitDocuments(data []byte) []document {
	var docs []document
	start, startLine, line := 0, 0, 0
	content := false
	cut := func(end, next, nextLine int) {
		if content {
			docs = append(docs, document{data[start:end], startLine})
		}
		start, startLine, content = next, nextLine, false
	}
	for pos := 0; pos < len(data); line++ {
		next := len(data)
		if i := bytes.IndexByte(data[pos:], '\n'); i >= 0 {
			next = pos + i + 1
		}
		text := bytes.TrimRight(data[pos:next], " \t\r\n")
		switch {
		case string(text) == "...":
			cut(pos, next, line+1)
		case isMarker(text):
			if content {
				cut(pos, pos, line)
			}
			content = true
		case len(text) > 0 && text[0] != '#' && text[0] != '%':
			content = true
		}
		pos = next
	}
	cut(len(data), len(data), line)
	return docs
}

func isMarker(line []byte) bool {
	rest, ok := bytes.CutPrefix(line, []byte("---"))
	return ok && (len(rest) == 0 || rest[0] == ' ' || rest[0] == '\t')
}

// yamlLine matches what the YAML parser says about a place: its form, not its content.
var yamlLine = regexp.MustCompile(`line (\d+): (.*)`)

// yamlError words an error of the YAML parser as one line. The parser quotes the file in some of its messages; as that
// may be a secret, only those are passed on that cannot.
func yamlError(err error, linesBefore int) error {
	text := err.Error()
	if m := yamlLine.FindStringSubmatch(text); m != nil {
		line, _ := strconv.Atoi(m[1]) // digits; a number too large prints as the largest
		return &positionError{line + linesBefore, m[2]}
	}
	problem := strings.TrimPrefix(text, "yaml: ")
	switch {
	case strings.Contains(problem, "unknown anchor"):
		problem = "a value begins with * but is not the name of an anchor: put it in quotes"
	case strings.Contains(problem, "map key"):
		problem = "a key is not text"
	case strings.HasPrefix(problem, "cannot decode"), strings.Contains(problem, "!!binary"),
		strings.HasPrefix(problem, "anchor "), strings.HasPrefix(problem, "json:"):
		problem = "a value does not fit its tag or anchor"
	case strings.HasPrefix(problem, "did not find"), strings.HasPrefix(problem, "found "),
		strings.HasPrefix(problem, "could not find"), strings.HasPrefix(problem, "mapping values"),
		strings.HasPrefix(problem, "block "), strings.HasPrefix(problem, "document contains excessive aliasing"):
		return &positionError{linesBefore + 1, problem}
	default:
		problem = "not readable as YAML or JSON (" + problemClass(problem) + ")"
	}
	return &positionError{problem: problem}
}

// problemClass passes on the known complaints about characters and hides all others.
func problemClass(problem string) string {
	for _, known := range []string{
		"control characters are not allowed", "invalid leading UTF-8 octet", "invalid trailing UTF-8 octet",
		"incomplete UTF-8 octet sequence", "map merge requires map or sequence of maps as the value",
	} {
		if strings.Contains(problem, known) {
			return known
		}
	}
	return "syntax error"
}
