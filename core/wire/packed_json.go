// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"errors"

	"github.com/go-json-experiment/json/jsontext"
)

// The functions of this file expect an object in valid JSON, which was read from a stream or written by this package.
// They check no more of it than they need, so they are several times faster than a decoder. For invalid JSON, they
// return an error or a wrong result, but do not panic.

// errStop ends a walk over members or fields early.
var errStop = errors.New("stop")

var errMalformed = errors.New("json: malformed object")

// member is one member of a JSON object.
type member struct {
	name       []byte // unquoted
	value      []byte
	start, end int // position in the object, without commas; the value is at the end
}

// eachMember calls visit with each member of a JSON object. Null and nil have no members.
func eachMember(data []byte, visit func(m member) error) error {
	i := skipSpace(data, 0)
	if i == len(data) || bytes.HasPrefix(data[i:], []byte("null")) {
		return nil
	}
	if data[i] != '{' {
		return errMalformed
	}
	for i = skipSpace(data, i+1); i < len(data) && data[i] != '}'; {
		start := i
		nameEnd := skipString(data, i)
		i = skipSpace(data, nameEnd)
		if nameEnd == start || i == len(data) || data[i] != ':' {
			return errMalformed
		}
		valueStart := skipSpace(data, i+1)
		if i = skipValue(data, valueStart); i == valueStart {
			return errMalformed
		}
		m := member{name: data[start+1 : nameEnd-1], value: data[valueStart:i], start: start, end: i}
		if bytes.IndexByte(m.name, '\\') >= 0 {
			m.name = []byte(unquote(data[start:nameEnd]))
		}
		if err := visit(m); err != nil {
			return err
		}
		if i = skipSpace(data, i); i < len(data) && data[i] == ',' {
			i = skipSpace(data, i+1)
		}
	}
	if i >= len(data) {
		return errMalformed
	}
	return nil
}

// findMember returns the first member of that name, and the zero member if the object has none.
func findMember(data []byte, name string) (found member, err error) {
	err = eachMember(data, func(m member) error {
		if string(m.name) != name {
			return nil
		}
		found = m
		return errStop
	})
	if err == errStop {
		err = nil
	}
	return found, err
}

// eachElement calls visit with the position of each element of a JSON array. Null has no elements.
func eachElement(data []byte, visit func(start, end int) error) error {
	i := skipSpace(data, 0)
	if i == len(data) || data[i] != '[' {
		return nil
	}
	for i = skipSpace(data, i+1); i < len(data) && data[i] != ']'; {
		end := skipValue(data, i)
		if end == i {
			return errMalformed
		}
		if err := visit(i, end); err != nil {
			return err
		}
		if i = skipSpace(data, end); i < len(data) && data[i] == ',' {
			i = skipSpace(data, i+1)
		}
	}
	return nil
}

// skipSpace returns the index of the first byte at or after i that is not white space.
func skipSpace(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\n' || data[i] == '\t' || data[i] == '\r') {
		i++
	}
	return i
}

// skipString returns the index after the string that starts at i, or i if there is no string.
func skipString(data []byte, i int) int {
	if i >= len(data) || data[i] != '"' {
		return i
	}
	for j := i + 1; j < len(data); j++ {
		switch data[j] {
		case '"':
			return j + 1
		case '\\':
			j++
		}
	}
	return i
}

// skipValue returns the index after the value that starts at i, or i if there is no value.
func skipValue(data []byte, i int) int {
	depth := 0
	for j := i; j < len(data); j++ {
		switch data[j] {
		case '"':
			end := skipString(data, j)
			if end == j {
				return i
			}
			if depth == 0 {
				return end
			}
			j = end - 1
		case '{', '[':
			depth++
		case '}', ']':
			depth--
			if depth == 0 {
				return j + 1
			}
			if depth < 0 {
				return j // the end of a number or a literal
			}
		case ',', ' ', '\n', '\t', '\r':
			if depth == 0 {
				return j
			}
		}
	}
	if depth != 0 {
		return i
	}
	return len(data)
}

// text returns the value of a JSON string. It returns the empty string for any other value.
func text(value []byte) string {
	if jsontext.Value(value).Kind() != '"' {
		return ""
	}
	return unquote(value)
}

// compactJSON copies an object without metadata.managedFields.
func compactJSON(data []byte) ([]byte, error) {
	from, to, err := findManagedFields(data)
	if err != nil {
		return nil, err
	}
	out := make([]byte, 0, len(data)-(to-from))
	return append(append(out, data[:from]...), data[to:]...), nil
}

// findManagedFields returns the position of metadata.managedFields, including the comma to remove with it.
func findManagedFields(data []byte) (from, to int, err error) {
	meta, err := findMember(data, "metadata")
	if err != nil || meta.value == nil {
		return 0, 0, err
	}
	fields, err := findMember(meta.value, "managedFields")
	if err != nil || fields.value == nil {
		return 0, 0, err
	}
	offset := meta.end - len(meta.value)
	from, to = offset+fields.start, offset+fields.end
	if after := skipSpace(data, to); data[after] == ',' {
		return from, skipSpace(data, after+1), nil
	}
	before := len(bytes.TrimRight(data[:from], " \n\t\r"))
	if data[before-1] == ',' {
		from = before - 1
	}
	return from, to, nil
}
