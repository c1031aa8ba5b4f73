// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ReadList reads the body of a list response and calls each with one item after the other as they arrive. The item's
// bytes live until each returns. It returns the list's metadata, complete only when the error is nil. An error of each
// ends the reading and is returned as it is.
func ReadList(r io.Reader, contentType string, limits *Limits, each func(Packed) error) (metav1.ListMeta, error) {
	encoding, err := EncodingOf(contentType)
	if err != nil {
		return metav1.ListMeta{}, err
	}
	if encoding == Protobuf {
		messages := messageReader{r: bufio.NewReaderSize(r, 64<<10), limit: limits.objectBytes(), what: "list item"}
		l := protobufList{messageReader: messages, each: each}
		err = l.read()
		return l.meta, unexpectedEnd(err)
	}
	l := jsonList{meter: newMeter(r, "list item", limits), each: each}
	err = l.read()
	return l.meta, unexpectedEnd(err)
}

// unexpectedEnd makes a body that ends in the middle recognisable as a broken connection.
func unexpectedEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("list ends early: %w", io.ErrUnexpectedEOF)
	}
	return err
}

type jsonList struct {
	meter *meter
	each  func(Packed) error
	meta  metav1.ListMeta
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
		name := unquote(raw)
		if name == "items" && dec.PeekKind() == '[' {
			err = l.items(dec)
		} else if raw, err = dec.ReadValue(); err == nil {
			err = l.member(name, raw)
		}
		if err != nil {
			return err
		}
	}
	return expect(dec, '}')
}

func (l *jsonList) member(name string, raw jsontext.Value) error {
	switch name {
	case "metadata":
		return UnmarshalJSON(raw, &l.meta)
	case "kind":
		return checkListKind(text(raw))
	}
	return nil
}

func (l *jsonList) items(dec *jsontext.Decoder) error {
	if err := expect(dec, '['); err != nil {
		return err
	}
	for dec.PeekKind() != ']' {
		raw, err := dec.ReadValue()
		if err != nil {
			return err
		}
		if err := l.each(Packed{encoding: JSON, data: raw}); err != nil {
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

// checkListKind refuses an answer that is not a list, which would otherwise look like an empty one.
func checkListKind(kind string) error {
	if kind != "" && !strings.HasSuffix(kind, "List") {
		return fmt.Errorf("want a list, the server sent a %s", kind)
	}
	return nil
}

// protobufList walks the envelope and the list message in it as they arrive; only one item is in memory at a time.
type protobufList struct {
	messageReader
	each func(Packed) error
	meta metav1.ListMeta
}

func (l *protobufList) read() error {
	prefix, err := l.take(uint64(len(magic)))
	if err != nil {
		return err
	}
	if string(prefix) != string(magic) {
		return errNotEnvelope
	}
	return l.fields(-1, func(num protowire.Number, size uint64) error {
		switch num {
		case unknownTypeMeta:
			value, err := l.take(size)
			if err != nil {
				return err
			}
			tm, err := parseTypeMeta(value)
			if err != nil {
				return err
			}
			return checkListKind(tm.kind)
		case unknownRaw:
			return l.list(size)
		}
		return l.skip(size)
	})
}

func (l *protobufList) list(size uint64) error {
	return l.fields(int64(size), func(num protowire.Number, size uint64) error {
		switch num {
		case listMeta:
			value, err := l.take(size)
			if err != nil {
				return err
			}
			return l.meta.Unmarshal(value)
		case listItems:
			value, err := l.take(size)
			if err != nil {
				return err
			}
			return l.each(Packed{encoding: Protobuf, data: value})
		}
		return l.skip(size)
	})
}
