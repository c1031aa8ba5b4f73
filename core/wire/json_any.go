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

// maxDepth is how deeply values may nest, the same as jsontext allows.
const maxDepth = 10000

// parseAny parses JSON into the types that unstructured objects are made of: nil, bool, string, int64, float64, []any and
// map[string]any. It accepts exactly what jsontext does by the rules of encoding/json; it is here since most of the time
// of the general way goes into memory that is not needed.
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
	var rest jsontext.Value // let jsontext say where the mistake is
	if err := json.Unmarshal(data, &rest, jsonOptions); err != nil {
		return nil, err
	}
	return nil, errors.New("json: malformed value")
}

// anyParser allocates little: names and short values recur all through an object, so they are shared, and containers are
// made when their size is known. Its methods return false when there is a mistake at pos.
type anyParser struct {
	data    []byte
	pos     int
	depth   int
	strings interner
	members []anyMember // of the objects that are being read
	items   []any       // of the arrays that are being read
	err     error       // a mistake that is not one of syntax
}

// anyParsers are parsers to use again: objects of one kind have the same names.
//
//nolint:gochecknoglobals // a cache
var anyParsers = sync.Pool{New: func() any { return new(anyParser) }}

// maxScratch is how much room for members and items a parser keeps.
const maxScratch = 1 << 10

// release gives the parser back, with nothing in it but names.
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
		return p.data[p.pos] // the server sends none
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

// name reads a string, and takes it from the shared ones if it may be there.
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

// text reads a string and returns what it says, and whether it is one to share: short, and not empty.
func (p *anyParser) text() (text []byte, share, ok bool) {
	plain := true // nothing is to be replaced
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

// unquoteAny is unquote for strings that may be invalid. One with bad UTF-8 is valid.
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
		p.err = &fieldError{path: pathAt(p.data, p.pos), offset: int64(start), err: fmt.Errorf("%.40s does not fit a float64", raw)}
	}
	return f, err == nil
}

// isNumber refuses what strconv takes for a number and JSON does not: a plus, leading zeros, a point without digits.
func isNumber(s string) bool {
	s = strings.TrimPrefix(s, "-")
	if s == "" || !isDigit(s[0]) || s[0] == '0' && len(s) > 1 && isDigit(s[1]) {
		return false
	}
	point := strings.IndexByte(s, '.')
	return point < 0 || point+1 < len(s) && isDigit(s[point+1])
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
