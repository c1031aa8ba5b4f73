// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// maxDepth bounds the nesting of values. It is the limit of jsontext.
const maxDepth = 10000

// parseAny parses JSON into the types of unstructured objects: nil, bool, string, int64, float64, []any and
// map[string]any. It accepts the same input as jsontext by the rules of encoding/json. It allocates less memory, which
// is most of the time of a general parser.
func parseAny(data []byte) (any, error) {
	p := anyParsers.Get().(*anyParser)
	defer p.release()
	p.data = data
	v, ok := p.value()
	if ok && p.next() == 0 && p.pos == len(data) {
		return v, nil
	}
	if p.err != nil {
		return nil, p.err
	}
	var rest jsontext.Value // jsontext returns the position of the error
	if err := json.Unmarshal(data, &rest, jsonOptions); err != nil {
		return nil, err
	}
	return nil, errors.New("json: malformed value")
}

// anyParser allocates little memory: it shares names and short values, which recur in an object, and makes containers
// when their size is known. Its methods return false for a syntax error at pos.
type anyParser struct {
	data    []byte
	pos     int
	depth   int
	strings interner
	members []anyMember // of the objects that are being read
	items   []any       // of the arrays that are being read
	err     error       // an error other than a syntax error
}

// anyParsers are parsers to reuse: objects of one kind have the same names.
//
//nolint:gochecknoglobals // a cache
var anyParsers = sync.Pool{New: func() any { return new(anyParser) }}

// maxScratch is the largest number of members and items for which a parser keeps memory.
const maxScratch = 1 << 10

// release returns the parser to the pool. It keeps nothing but names.
func (p *anyParser) release() {
	if cap(p.members) > maxScratch || cap(p.items) > maxScratch {
		p.members, p.items = nil, nil
	}
	clear(p.members[:cap(p.members)])
	clear(p.items[:cap(p.items)])
	clear(p.strings.values[:])
	p.strings.chunk = strings.Builder{}
	p.members, p.items = p.members[:0], p.items[:0]
	p.data, p.pos, p.depth, p.err = nil, 0, 0, nil
	anyParsers.Put(p)
}

type anyMember struct {
	name  string
	value any
}

// next skips white space and returns the byte after it, zero at the end.
func (p *anyParser) next() byte {
	if p.pos < len(p.data) && p.data[p.pos] > ' ' {
		return p.data[p.pos] // the server sends no white space
	}
	if p.pos = skipSpace(p.data, p.pos); p.pos == len(p.data) {
		return 0
	}
	return p.data[p.pos]
}

func (p *anyParser) value() (any, bool) {
	switch p.next() {
	case '{':
		return p.object()
	case '[':
		return p.array()
	case '"':
		return p.string()
	case 't':
		return true, p.literal("true")
	case 'f':
		return false, p.literal("false")
	case 'n':
		return nil, p.literal("null")
	}
	return p.number()
}

func (p *anyParser) literal(want string) bool {
	if !bytes.HasPrefix(p.data[p.pos:], []byte(want)) {
		return false
	}
	p.pos += len(want)
	return true
}

func (p *anyParser) object() (any, bool) {
	start := len(p.members)
	ok := p.elements('}', func() bool {
		if p.next() != '"' {
			return false
		}
		name, ok := p.name()
		if !ok || p.next() != ':' {
			return false
		}
		p.pos++
		value, ok := p.value()
		p.members = append(p.members, anyMember{name, value})
		return ok
	})
	if len(p.members) == start {
		return map[string]any{}, ok
	}
	m := make(map[string]any, len(p.members)-start)
	for _, member := range p.members[start:] {
		m[member.name] = member.value
	}
	p.members = p.members[:start]
	return m, ok
}

func (p *anyParser) array() (any, bool) {
	start := len(p.items)
	ok := p.elements(']', func() bool {
		value, ok := p.value()
		p.items = append(p.items, value)
		return ok
	})
	a := append(make([]any, 0, len(p.items)-start), p.items[start:]...)
	p.items = p.items[:start]
	return a, ok
}

// elements reads the elements of a container up to its closing byte.
func (p *anyParser) elements(closing byte, element func() bool) bool {
	p.pos++
	if p.depth++; p.depth > maxDepth {
		return false
	}
	if p.next() == closing {
		p.pos++
		p.depth--
		return true
	}
	for element() {
		switch p.next() {
		case ',':
			p.pos++
		case closing:
			p.pos++
			p.depth--
			return true
		default:
			return false
		}
	}
	return false
}

// name reads a string, which is shared if it is short.
func (p *anyParser) name() (string, bool) {
	text, share, ok := p.text()
	if !share {
		return string(text), ok
	}
	return p.strings.name(text), true
}

// string is name for values.
func (p *anyParser) string() (any, bool) {
	text, share, ok := p.text()
	if !share {
		return string(text), ok
	}
	return p.strings.value(text), true
}

// text reads a string and returns its value, and whether to share it: it is short and not empty.
func (p *anyParser) text() (text []byte, share, ok bool) {
	plain := true // without escapes
	start := p.pos + 1
	for i := start; i < len(p.data); i++ {
		switch c := p.data[i]; {
		case c == '"':
			p.pos = i + 1
			if !plain {
				text, ok = unquoteAny(p.data[start-1 : i+1])
				return text, false, ok
			}
			return p.data[start:i], start < i && i-start <= maxShared, true
		case c == '\\':
			plain = false
			i++
		case c < ' ':
			return nil, false, false
		case c >= 0x80:
			plain = false
		}
	}
	return nil, false, false
}

// unquoteAny is unquote for strings that may be invalid. It accepts invalid UTF-8.
func unquoteAny(quoted []byte) ([]byte, bool) {
	text, err := jsontext.AppendUnquote(nil, quoted)
	return text, err == nil || jsontext.Value(quoted).IsValid(jsonOptions)
}

func (p *anyParser) number() (any, bool) {
	start, integer := p.pos, true
	for ; p.pos < len(p.data); p.pos++ {
		c := p.data[p.pos]
		if c == '.' || c == 'e' || c == 'E' {
			integer = false
		} else if !isDigit(c) && c != '-' && c != '+' {
			break
		}
	}
	raw := p.data[start:p.pos]
	if !isNumber(string(raw)) {
		return nil, false
	}
	if integer {
		if i, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
			return i, true
		}
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if errors.Is(err, strconv.ErrRange) {
		p.err = &fieldError{
			path:   pathAt(p.data, p.pos),
			offset: int64(start),
			err:    fmt.Errorf("%.40s does not fit a float64", raw),
		}
	}
	return f, err == nil
}

// isNumber refuses numbers that strconv accepts and JSON does not: with a plus, leading zeros, or a point without
// digits.
func isNumber(s string) bool {
	s = strings.TrimPrefix(s, "-")
	if s == "" || !isDigit(s[0]) || s[0] == '0' && len(s) > 1 && isDigit(s[1]) {
		return false
	}
	point := strings.IndexByte(s, '.')
	return point < 0 || point+1 < len(s) && isDigit(s[point+1])
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
