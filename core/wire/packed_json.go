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
		name, value, err := memberAt(data, i)
		if err != nil {
			return err
		}
		end := skipValue(data, value)
		if end == value {
			return errMalformed
		}
		m := member{name: unescaped(name), value: data[value:end], start: i, end: end}
		i = end
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

// skipString returns the index after the string that starts at i, or i if none starts there. It reads each byte at
// most twice, however many escapes there are.
func skipString(data []byte, i int) int {
	if i >= len(data) || data[i] != '"' {
		return i
	}
	quote := i // the first one at or after j
	for j := i + 1; j < len(data); {
		if quote < j {
			n := bytes.IndexByte(data[j:], '"')
			if n < 0 {
				return i
			}
			quote = j + n
		}
		escape := bytes.IndexByte(data[j:quote], '\\')
		if escape < 0 {
			return quote + 1
		}
		j += escape + 2 // after the escaped byte, which may be the quote
	}
	return i
}

// skipValue returns the index after the value that starts at i, or i without a value.
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

// appendCompactJSON appends an object without metadata.managedFields, and only with the fields of keep. It omits the
// kind and the apiVersion if they precede the metadata, as servers write them.
func appendCompactJSON(dst, data []byte, keep *Projection) ([]byte, error) {
	i := skipSpace(data, 0)
	if i == len(data) || bytes.HasPrefix(data[i:], []byte("null")) {
		return append(dst, "null"...), nil
	}
	if data[i] != '{' {
		return dst, errMalformed
	}
	dst = append(dst, '{')
	for i = skipSpace(data, i+1); i < len(data) && data[i] != '}'; {
		name, value, err := memberAt(data, i)
		if err != nil {
			return dst, err
		}
		var end int
		switch string(unescaped(name)) {
		case "metadata":
			dst = append(append(comma(dst), name...), ':')
			dst, end, err = appendMetadata(dst, data, value)
		case "kind", "apiVersion":
			end = skipValue(data, value)
		default:
			dst, end, err = keep.appendMember(dst, data, name, value)
		}
		if err == nil && end == value {
			err = errMalformed
		}
		if err != nil {
			return dst, err
		}
		if i = skipSpace(data, end); i < len(data) && data[i] == ',' {
			i = skipSpace(data, i+1)
		}
		if keep == nil && string(name) == `"metadata"` {
			return appendRest(dst, data[i:])
		}
	}
	if i >= len(data) {
		return dst, errMalformed
	}
	return append(dst, '}'), nil
}

// appendRest appends the rest of an object, without reading it.
func appendRest(dst, rest []byte) ([]byte, error) {
	rest = bytes.TrimRight(rest, " \n\t\r")
	if len(rest) == 0 || rest[len(rest)-1] != '}' {
		return dst, errMalformed
	}
	if len(rest) > 1 {
		dst = comma(dst)
	}
	return append(dst, rest...), nil
}

// appendMetadata appends the metadata that starts at i without managedFields, and returns the index after it.
func appendMetadata(dst, data []byte, i int) ([]byte, int, error) {
	end := skipValue(data, i)
	if end == i {
		return dst, i, errMalformed
	}
	meta := data[i:end]
	fields, err := findMember(meta, "managedFields")
	if err != nil || fields.value == nil {
		return append(dst, meta...), end, err
	}
	from, to := fields.start, skipSpace(meta, fields.end)
	if meta[to] == ',' {
		to = skipSpace(meta, to+1)
	} else if from = len(bytes.TrimRight(meta[:from], " \n\t\r")); meta[from-1] == ',' {
		from--
	}
	return append(append(dst, meta[:from]...), meta[to:]...), end, nil
}

// memberAt returns the quoted name of the member that starts at i, and the index of its value.
func memberAt(data []byte, i int) (name []byte, value int, err error) {
	end := skipString(data, i)
	colon := skipSpace(data, end)
	if end == i || colon == len(data) || data[colon] != ':' {
		return nil, i, errMalformed
	}
	return data[i:end], skipSpace(data, colon+1), nil
}

// unescaped returns the value of a quoted name.
func unescaped(name []byte) []byte {
	if bytes.IndexByte(name, '\\') >= 0 {
		return []byte(unquote(name))
	}
	return name[1 : len(name)-1]
}
