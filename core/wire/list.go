// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core/internal/protobuf"
)

// ReadList reads the body of a list response and calls each with every item as it arrives. The item's bytes are valid
// until each returns. ReadList returns the metadata of the list, which is complete only if the error is nil. If each
// returns an error, ReadList stops and returns it unchanged. The error for a body that ends early matches
// io.ErrUnexpectedEOF.
//
// Errors: [*TooLargeError]; [*KindError] for a list of another kind than ReadOptions.Kind, sometimes only after the
// items.
func ReadList(r io.Reader, contentType string, o *ReadOptions, each func(Packed) error) (metav1.ListMeta, error) {
	encoding, err := EncodingOf(contentType)
	if err != nil {
		return metav1.ListMeta{}, err
	}
	opts := o.orDefaults()
	limits, kind := opts.Limits, listKind{want: opts.Kind, isTable: opts.Rows != nil}
	var meta metav1.ListMeta
	var stopped error // what each returned
	most, items := limits.listItems(), int64(0)
	visit := func(p Packed) error {
		if items++; items > most {
			return &TooLargeError{What: whatList, LimitItems: most}
		}
		stopped = each(p)
		return stopped
	}
	r = &listReader{r: r, left: limits.listBytes(), limit: limits.listBytes()}
	if encoding == Protobuf {
		messages := messageReader{r: bufio.NewReaderSize(r, 64<<10), limit: limits.objectBytes(), what: "list item"}
		l := protobufList{messageReader: messages, each: visit, kind: kind}
		l.kind.unnamed = true
		err = l.read()
		meta = l.meta
	} else {
		l := jsonList{meter: newMeter(r, "list item", limits), each: visit, kind: kind, itemsName: "items"}
		if opts.Rows != nil {
			l.rows, l.itemsName = opts.Rows, "rows"
		}
		err = l.read()
		meta = l.meta
	}
	if err != nil && stopped == nil {
		err = fmt.Errorf("read list: %w", noEOF(err))
	}
	return meta, err
}

type jsonList struct {
	meter  *meter
	each   func(Packed) error
	meta   metav1.ListMeta
	kind   listKind
	isList bool // the kind or the items were read

	itemsName string
	rows      Rows // turns the rows of a table into items; nil for a list
}

func (l *jsonList) read() error {
	dec := jsontext.NewDecoder(l.meter, jsonOptions)
	if err := expect(dec, '{'); err != nil {
		return err
	}
	for dec.PeekKind() != '}' {
		raw, err := dec.ReadValue()
		if err != nil {
			return err
		}
		if name := unquote(raw); name == l.itemsName && dec.PeekKind() != 'n' {
			err = l.items(dec)
		} else {
			err = l.member(name, dec)
		}
		if err != nil {
			return err
		}
	}
	if err := expect(dec, '}'); err != nil {
		return err
	}
	if !l.isList {
		return errNotList
	}
	if err := l.kind.check(); err != nil {
		return err
	}
	l.meter.reset()
	if _, err := dec.ReadToken(); err != io.EOF {
		return cmp.Or(err, errors.New("json: more after the end of the list"))
	}
	return nil
}

func (l *jsonList) member(name string, dec *jsontext.Decoder) error {
	value, err := dec.ReadValue()
	if err != nil {
		return err
	}
	switch name {
	case "metadata":
		return UnmarshalJSON(value, &l.meta)
	case l.itemsName:
		l.isList = true
	case "kind":
		err := l.kind.setKind(text(value))
		l.isList = l.isList || l.kind.isUsual() || l.rows != nil
		return err
	case "apiVersion":
		l.kind.apiVersion = text(value)
	case "columnDefinitions":
		if l.rows != nil {
			return l.rows.setColumns(value)
		}
	}
	return nil
}

func (l *jsonList) items(dec *jsontext.Decoder) error {
	if err := expect(dec, '['); err != nil {
		return err
	}
	l.isList = true
	if err := l.kind.check(); err != nil {
		return err
	}
	l.meter.reset()
	for dec.PeekKind() != ']' {
		raw, err := dec.ReadValue()
		if err != nil {
			return err
		}
		if raw.Kind() != '{' {
			return fmt.Errorf("json: want an object as list item, not %s", raw.Kind())
		}
		if err := l.meter.check(raw); err != nil {
			return err
		}
		item := Packed{encoding: JSON, data: raw}
		if l.rows != nil {
			item, err = l.rows.object(raw)
		} else {
			err = l.kind.checkItem(item)
		}
		if err != nil {
			return err
		}
		if err := l.each(item); err != nil {
			return err
		}
		l.meter.reset()
	}
	return expect(dec, ']')
}

func expect(dec *jsontext.Decoder, want jsontext.Kind) error {
	tok, err := dec.ReadToken()
	if err != nil {
		return err
	}
	if tok.Kind() != want {
		return fmt.Errorf("json: want %s, not %s", want, tok.Kind())
	}
	return nil
}

// protobufList walks the envelope and the list message in it as they arrive; only one item is in memory at a time.
type protobufList struct {
	messageReader
	each func(Packed) error
	meta metav1.ListMeta
	kind listKind
}

func (l *protobufList) read() error {
	prefix, err := l.take(uint64(len(magic)))
	if err != nil {
		return err
	}
	if string(prefix) != magic {
		return errNotEnvelope
	}
	hasKind, hasList := false, false
	err = l.fields(-1, func(num protowire.Number, size uint64) error {
		switch num {
		case unknownTypeMeta:
			hasKind = true
			return l.typeMeta(size)
		case unknownRaw:
			if !hasKind {
				return errNotList
			}
			hasList = true
			return l.list(size)
		default:
			return l.skip(size)
		}
	})
	if err == nil && !hasList {
		err = errEmptyEnvelope
	}
	return err
}

func (l *protobufList) typeMeta(size uint64) error {
	value, err := l.take(size)
	if err != nil {
		return err
	}
	tm, err := parseTypeMeta(value)
	if err != nil {
		return err
	}
	l.kind.apiVersion = tm.apiVersion
	return cmp.Or(l.kind.setKind(tm.kind), l.kind.check())
}

func (l *protobufList) list(size uint64) error {
	if size > math.MaxInt64 {
		return errors.New("protobuf: list of negative size")
	}
	return l.fields(int64(size), func(num protowire.Number, size uint64) error {
		switch num {
		case listMeta:
			value, err := l.take(size)
			if err != nil {
				return err
			}
			return protobuf.Unmarshal(value, &l.meta)
		case listItems:
			value, err := l.take(size)
			if err != nil {
				return err
			}
			return l.each(Packed{encoding: Protobuf, data: value})
		default:
			return l.skip(size)
		}
	})
}
