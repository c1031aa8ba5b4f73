// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"

	"sigs.k8s.io/yaml"
)

// syntaxError is a mistake in the form of the text. The line counts from 1; 0 is not known.
type syntaxError struct {
	line    int
	problem string
}

// decodeYAML returns each document of the text as JSON.
func decodeYAML(data []byte) ([]json.RawMessage, *syntaxError) {
	var docs []json.RawMessage
	for _, doc := range splitDocuments(decodeText(data)) {
		if json.Valid(doc.text) { // the YAML parser does not know all of JSON
			if err := checkJSON(doc); err != nil {
				return nil, err
			}
			docs = append(docs, bytes.TrimSpace(doc.text))
			continue
		}
		raw, err := yaml.YAMLToJSONStrict(doc.text) // strict: a key that is there twice is an error
		if err != nil && bytes.Contains(doc.text, []byte("<<")) {
			raw, err = yaml.YAMLToJSON(doc.text) // strict takes a key that replaces a merged one for a duplicate
		}
		if err != nil {
			return nil, yamlError(err, doc)
		}
		docs = append(docs, raw)
	}
	return docs, nil
}

// checkJSON reports a key that is there twice, which encoding/json does not.
func checkJSON(doc document) *syntaxError {
	d := json.NewDecoder(bytes.NewReader(doc.text))
	d.UseNumber()
	key, twice := repeatedKey(d)
	if !twice {
		return nil
	}
	before := doc.text[:d.InputOffset()]
	return &syntaxError{doc.line + bytes.Count(before, []byte("\n")) + 1, fmt.Sprintf("key %q is there twice: remove one", key)}
}

// repeatedKey reads one value that is known to be valid, up to the first key that its object has already.
func repeatedKey(d *json.Decoder) (key string, twice bool) {
	token, err := d.Token()
	if err != nil || token != json.Delim('{') && token != json.Delim('[') {
		return "", false
	}
	seen := map[string]bool{}
	for d.More() {
		if token == json.Delim('{') {
			name, _ := d.Token()
			key, _ := name.(string)
			if seen[key] {
				return key, true
			}
			seen[key] = true
		}
		if key, twice := repeatedKey(d); twice {
			return key, true
		}
	}
	_, _ = d.Token() // the closing delimiter
	return "", false
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

// The form of what the YAML parser says about a place, and about an anchor that is not there. Never written.
var (
	yamlLine   = regexp.MustCompile(`line (\d+): (.*)`)
	yamlAnchor = regexp.MustCompile(`unknown anchor '(.*)' referenced`)
)

// yamlError words an error of the YAML parser as one line. The parser quotes the text in some of its messages; as that
// may be a secret, only those are passed on that do not.
func yamlError(err error, doc document) *syntaxError {
	text := err.Error()
	if m := yamlLine.FindStringSubmatch(text); m != nil {
		line, _ := strconv.Atoi(m[1]) // digits; a number too large is as good as any
		problem := strings.Replace(m[2], "already set in map", "is there twice: remove one", 1)
		if strings.HasPrefix(problem, "found character that cannot start any token") && tabbed(doc.text, line) {
			problem = "begins with a tab: indent with spaces"
		}
		return &syntaxError{line + doc.line, problem}
	}
	if m := yamlAnchor.FindStringSubmatch(text); m != nil {
		before, _, _ := strings.Cut(string(doc.text), "*"+m[1])
		return &syntaxError{
			doc.line + strings.Count(before, "\n") + 1,
			"a value that begins with * is not the name of an anchor: put it in quotes",
		}
	}
	problem := strings.TrimPrefix(text, "yaml: ")
	for _, start := range []string{"did not find", "found ", "could not find", "mapping values", "block "} {
		if strings.HasPrefix(problem, start) { // no line number is the first line
			return &syntaxError{doc.line + 1, problem}
		}
	}
	for _, known := range []string{
		"control characters are not allowed", "invalid leading UTF-8 octet", "invalid trailing UTF-8 octet",
		"incomplete UTF-8 octet sequence", "map merge requires map or sequence of maps as the value",
		"excessive aliasing", "map key", "exceeded max depth",
	} {
		if strings.Contains(problem, known) {
			return &syntaxError{0, "cannot be read as YAML or JSON: " + known}
		}
	}
	return &syntaxError{0, "cannot be read as YAML or JSON: a value does not fit its tag or anchor"}
}

// tabbed reports whether a line, counted from 1, is indented by a tab.
func tabbed(text []byte, line int) bool {
	lines := bytes.Split(text, []byte("\n"))
	return line > 0 && line <= len(lines) && bytes.HasPrefix(bytes.TrimLeft(lines[line-1], " "), []byte("\t"))
}

// in puts the file and the line before what is wrong.
func (e *syntaxError) in(file string) error {
	if e.line > 0 {
		file = fmt.Sprintf("%s:%d", file, e.line)
	}
	return &FieldError{File: file, Problem: e.problem}
}
