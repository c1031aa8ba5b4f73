// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package marker

import (
	"strings"

	"github.com/kube-go/sdk/derive/internal/suggest"
)

// parseOurs reads "kube:name key=value key …".
func (s *Set) parseOurs(text string) (*Marker, error) {
	name := firstWord(text)
	d, ok := s.byName[name]
	if !ok || !d.our {
		if i := strings.LastIndexAny(name, ":="); i > 0 && s.byName[name[:i]] != nil {
			return nil, errorAt(i, "write a space between //%s and its arguments", name[:i])
		}
		return nil, s.unknown(name, "//", ours)
	}
	args := newArgReader(d)
	sc := &scanner{text: text, pos: len(name)}
	if own := d.param(""); own != nil { // free text
		if sc.skipSpace(); !sc.done() {
			args.set(own, sc.rest())
		}
		return args.marker(false)
	}
	for sc.skipSpace(); !sc.done(); sc.skipSpace() {
		start := sc.pos
		key := sc.until(" \t=")
		p, err := args.param(key, start)
		if err != nil {
			return nil, err
		}
		if !sc.accept('=') {
			if !p.bare {
				return nil, errorAt(start, "%s needs a value: write %s=…", key, key)
			}
			args.set(p, bareValue(p))
			continue
		}
		valueAt := sc.pos
		text, err := sc.text1(" \t")
		if err != nil {
			return nil, err
		}
		v, err := ourValue(p, text, valueAt)
		if err != nil {
			return nil, err
		}
		args.set(p, v)
	}
	return args.marker(false)
}

// bareValue returns the value of an argument without an equals sign.
func bareValue(p *param) any {
	if p.kind == kindFlag {
		return true
	}
	return ""
}

// ourValue converts the text after an equals sign.
func ourValue(p *param, text string, at int) (any, error) {
	if p.kind == kindStrings {
		items := strings.Split(text, ",")
		for i := range items {
			if items[i] = strings.TrimSpace(items[i]); items[i] == "" {
				return nil, errorAt(at, "%s has an empty item", p.name)
			}
		}
		return items, nil
	}
	return convert(p, text, at)
}

// parseTheirs reads "+name", "+name=value" and "+name:key=value,key=value".
func (s *Set) parseTheirs(text string) (*Marker, error) {
	d, items, end := s.lookup(text)
	if d == nil {
		return nil, s.unknownTheirs(text)
	}
	if d.declarative {
		return s.parseDeclarative(d, text, end)
	}
	args := newArgReader(d)
	sc := &scanner{text: text, pos: end}
	if err := readTheirs(args, sc); err != nil {
		return nil, err
	}
	return args.marker(items)
}

func readTheirs(args *argReader, sc *scanner) error {
	own := args.def.param("")
	if own != nil && own.kind == kindRaw {
		return nil
	}
	switch {
	case sc.done():
		if own != nil && own.kind == kindFlag {
			args.set(own, true)
		}
		return nil
	case sc.has("=") || sc.has(":="):
		sc.until("=")
		sc.accept('=')
		return readOwnValue(args, own, sc)
	case sc.has(":") && len(args.def.paramNames()) > 0:
		sc.accept(':')
		return readNamed(args, sc)
	}
	return errorAt(sc.pos, "unexpected %q: %s", sc.rest(), args.def.usage())
}

// readOwnValue reads the value of the marker.
func readOwnValue(args *argReader, own *param, sc *scanner) error {
	if own == nil {
		return errorAt(sc.pos, "%s has no value; its arguments are %s",
			args.def.spelling(false), strings.Join(args.def.paramNames(), ", "))
	}
	sc.skipSpace()
	at := sc.pos
	v, err := theirValue(own, sc, true)
	if err != nil {
		return err
	}
	if sc.skipSpace(); !sc.done() {
		remedy := "quote the value if this is part of it"
		if own.kind == kindValues || own.kind == kindStrings {
			remedy = "separate the values by semicolons"
		}
		return errorAt(sc.pos, "unexpected %q: %s", sc.rest(), remedy)
	}
	if own.kind == kindFlag && v == false {
		return errorAt(at, "%s can't be false: remove it instead", args.def.spelling(false))
	}
	args.set(own, v)
	return nil
}

// readNamed reads key=value pairs that are separated by commas.
func readNamed(args *argReader, sc *scanner) error {
	var p *param
	for {
		sc.skipSpace()
		start := sc.pos
		key := strings.TrimSpace(sc.until("=,"))
		if p != nil && p.kind == kindStrings && !sc.has("=") && args.def.param(key) == nil {
			return errorAt(start, "unexpected %q: separate the values of %s by semicolons", key, p.name)
		}
		var err error
		p, err = args.param(key, start)
		if err != nil {
			return err
		}
		if !sc.accept('=') {
			return errorAt(start, "%s needs a value: write %s=…", key, key)
		}
		v, err := theirValue(p, sc, false)
		if err != nil {
			return err
		}
		args.set(p, v)
		if sc.skipSpace(); sc.done() {
			return nil
		}
		if !sc.accept(',') {
			return errorAt(sc.pos, "unexpected %q: arguments are separated by commas", sc.rest())
		}
	}
}

// theirValue reads one value. The value of a marker that is not quoted is the rest of the line.
func theirValue(p *param, sc *scanner, own bool) (any, error) {
	sc.skipSpace()
	at := sc.pos
	switch p.kind {
	case kindAny:
		return sc.any(own)
	case kindValues:
		return sc.list()
	case kindJSON:
		return sc.json()
	case kindStrings:
		if p.empty && (sc.done() || sc.has(",")) {
			return []string{""}, nil
		}
		list, err := sc.list()
		if err != nil {
			return nil, err
		}
		return asStrings(list, at)
	case kindFlag, kindBool, kindSize, kindNumber, kindString, kindMarker, kindRaw:
	}
	stop := ","
	if own {
		stop = ""
	}
	text, err := sc.text1(stop)
	if err != nil {
		return nil, err
	}
	return convert(p, text, at)
}

// lookup returns the definition whose name is the longest prefix of the text, and the end of the prefix.
func (s *Set) lookup(text string) (d *definition, items bool, end int) {
	name := strings.TrimPrefix(text, "+")
	stop := "= \t"
	if strings.HasPrefix(name, "k8s:") {
		stop = "= \t(#"
	}
	if i := strings.IndexAny(name, stop); i >= 0 {
		name = name[:i]
	}
	for {
		if d, ok := s.byName[name]; ok && !d.our {
			return d, false, 1 + len(name)
		}
		if rest, ok := strings.CutPrefix(name, validation+itemsPrefix); ok {
			if d, ok := s.byName[validation+rest]; ok && d.items {
				return d, true, 1 + len(name)
			}
		}
		i := strings.LastIndexByte(name, ':')
		if i < 0 {
			return nil, false, 0
		}
		name = name[:i]
	}
}

// argReader collects the arguments of one marker.
type argReader struct {
	def  *definition
	args Args
}

func newArgReader(d *definition) *argReader { return &argReader{def: d, args: Args{}} }

// param returns the definition of an argument.
func (r *argReader) param(key string, at int) (*param, error) {
	p := r.def.param(key)
	switch {
	case key == "":
		return nil, errorAt(at, "%s: an argument has no name", r.def.spelling(false))
	case p == nil:
		msg := "%s has no argument %q"
		names := r.def.paramNames()
		if near := suggest.Nearest(key, names); near != "" {
			return nil, errorAt(at, msg+"; did you mean %q?", r.def.spelling(false), key, near)
		}
		if len(names) == 0 {
			return nil, errorAt(at, msg+"; it has no named arguments", r.def.spelling(false), key)
		}
		return nil, errorAt(at, msg+"; its arguments are %s", r.def.spelling(false), key, strings.Join(names, ", "))
	case r.args.Has(key) && !p.repeat:
		return nil, errorAt(at, "%s is set twice", key)
	}
	return p, nil
}

func (r *argReader) set(p *param, v any) {
	if !p.repeat {
		r.args[p.name] = v
		return
	}
	list := r.args.Strings(p.name)
	switch v := v.(type) {
	case string:
		list = append(list, v)
	case []string:
		list = append(list, v...)
	}
	r.args[p.name] = list
}

// marker returns the marker, or an error if a required argument is missing.
func (r *argReader) marker(items bool) (*Marker, error) {
	for _, p := range r.def.params {
		if !p.required || r.args.Has(p.name) {
			continue
		}
		switch {
		case p.name == "" && p.kind == kindAny:
			return nil, errorAt(0, "%s needs a value: %s", r.def.spelling(items), r.def.usage())
		case p.name == "":
			return nil, errorAt(0, "%s needs a value: %s", r.def.spelling(items), p.kind)
		}
		return nil, errorAt(0, "%s needs %s=…", r.def.spelling(items), p.name)
	}
	return &Marker{Name: r.def.name, Items: items, Args: r.args}, nil
}
