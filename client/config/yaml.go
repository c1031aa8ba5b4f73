// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/kube-go/sdk/core/wire"
)

// decodeYAML returns each document of the data as JSON. file is the file that the data came from.
func decodeYAML(data []byte, file string) ([]json.RawMessage, error) {
	var docs []json.RawMessage
	for doc, err := range wire.RawDocuments(bytes.NewReader(data), nil) {
		if err != nil {
			return nil, syntaxError(err, file)
		}
		var text bytes.Buffer // without the line breaks
		if err := json.Compact(&text, doc.JSON); err != nil {
			return nil, err
		}
		docs = append(docs, text.Bytes())
	}
	return docs, nil
}

// syntaxError returns a FieldError with the line of a syntax error.
func syntaxError(err error, file string) error {
	if e, ok := errors.AsType[*wire.DocumentError](err); ok {
		if err = e.Err; e.Line > 0 {
			file = fmt.Sprintf("%s:%d", file, e.Line)
		}
	}
	return &FieldError{File: file, Problem: strings.TrimPrefix(err.Error(), "yaml: ")}
}

// encodeYAML encodes JSON as YAML in block style, and reports whether decoding the result gives the same JSON: for some
// numbers and line breaks it does not.
func encodeYAML(data []byte) ([]byte, bool) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, false
	}
	text := []byte(strings.Join(yamlLines(v), "\n") + "\n")
	docs, err := decodeYAML(text, "")
	if err != nil || len(docs) != 1 {
		return nil, false
	}
	again, err := canonicalJSON(docs[0])
	return text, err == nil && bytes.Equal(data, again)
}

// yamlLines encodes a value in block style. Empty collections, and strings that YAML might read as another type, are
// encoded as JSON.
func yamlLines(v any) []string {
	var lines []string
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			name, below := yamlScalar(key)+":", yamlLines(v[key])
			switch value := v[key].(type) {
			case map[string]any:
				if len(value) > 0 {
					lines = append(lines, name)
					lines = append(lines, indented("  ", "  ", below)...)
					continue
				}
			case []any:
				if len(value) > 0 {
					lines = append(append(lines, name), below...)
					continue
				}
			}
			lines = append(lines, name+" "+below[0])
		}
	case []any:
		for _, item := range v {
			lines = append(lines, indented("- ", "  ", yamlLines(item))...)
		}
	}
	if len(lines) == 0 {
		return []string{yamlScalar(v)}
	}
	return lines
}

func indented(first, next string, lines []string) []string {
	for i := range lines {
		lines[i] = next + lines[i]
	}
	lines[0] = first + lines[0][len(next):]
	return lines
}

// plain matches strings that YAML reads unchanged, unless they are one of the words for a boolean or null.
var (
	plain = regexp.MustCompile(`^(?:--)?[A-Za-z/](?:[A-Za-z0-9_./@=+-]|:[A-Za-z0-9_./@=+-]| [A-Za-z0-9_./@=+-])*$`)
	word  = regexp.MustCompile(`^(?i:y|n|yes|no|on|off|true|false|null)$`)
)

func yamlScalar(v any) string {
	if s, ok := v.(string); ok && plain.MatchString(s) && !word.MatchString(s) {
		return s
	}
	text, _ := json.Marshal(v) // it was JSON
	return string(text)
}
