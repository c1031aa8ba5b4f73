// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kube-go/sdk/derive/internal/openapi"
)

// FieldPath parses a path such as .spec.labels['a.b'], and returns the path and the schema of its target. If brackets
// is false, brackets are invalid.
func FieldPath(text string, s *openapi.Schema, brackets bool) (path *field.Path, target *openapi.Schema, err error) {
	if strings.ContainsRune(text, 0) {
		return nil, nil, errors.New("does not refer to a valid field")
	}
	for tokens := tokensOf(text); len(tokens) > 0; {
		var name string
		switch {
		case tokens[0] == "." && len(tokens) < 2, tokens[0] == "[" && brackets && len(tokens) < 2:
			return nil, nil, errors.New("unexpected end of JSON path")
		case tokens[0] == ".":
			name, tokens = tokens[1], tokens[2:]
		case tokens[0] == "[" && !brackets:
			return nil, nil, errors.New("array notation is not allowed")
		case tokens[0] == "[":
			if name, err = unquote(tokens[1]); err != nil {
				return nil, nil, err
			}
			if s.Properties == nil && s.AdditionalProperties == nil {
				return nil, nil, errors.New("does not refer to a valid field")
			}
			switch {
			case len(tokens) < 3:
				return nil, nil, errors.New("unexpected end of JSON path")
			case tokens[2] != "]":
				return nil, nil, fmt.Errorf("expected ] but got %s", tokens[2])
			}
			tokens = tokens[3:]
		default:
			return nil, nil, fmt.Errorf("expected [ or . but got: %s", tokens[0])
		}
		switch {
		case s == nil:
			return nil, nil, errors.New("does not refer to a valid field")
		case s.Properties[name] != nil:
			path, s = path.Child(name), s.Properties[name]
		case s.Properties == nil && s.AdditionalProperties != nil:
			path, s = path.Key(name), s.Value()
		default:
			return nil, nil, errors.New("does not refer to a valid field")
		}
	}
	return path, s, nil
}

// tokensOf splits a path at its dots and brackets, except for those in quotes.
func tokensOf(text string) []string {
	var tokens []string
	for text != "" {
		end := strings.IndexAny(text, ".[]")
		switch {
		case text[0] == '\'':
			end = len(text)
			for i := 1; i < len(text); i++ {
				if text[i] == '\'' && text[i-1] != '\\' {
					end = i + 1
					break
				}
			}
		case end == 0:
			end = 1
		case end < 0:
			end = len(text)
		}
		tokens, text = append(tokens, text[:end]), text[end:]
	}
	return tokens
}

// unquote decodes a name in single quotes.
func unquote(token string) (string, error) {
	if len(token) < 2 || token[0] != '\'' || token[len(token)-1] != '\'' {
		return "", fmt.Errorf("expected single quoted string but got %s", token)
	}
	var b strings.Builder
	for i := 1; i < len(token)-1; i++ {
		if token[i] != '\\' || i+1 == len(token)-1 {
			b.WriteByte(token[i])
			continue
		}
		i++
		at := strings.IndexByte(`abfnrtv'\`, token[i])
		if at < 0 {
			return "", fmt.Errorf("invalid string literal: invalid escape char \\%c", token[i])
		}
		b.WriteByte("\a\b\f\n\r\t\v'\\"[at])
	}
	return b.String(), nil
}
