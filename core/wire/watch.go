// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"iter"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-go/sdk/core"
)

// Event is one event of a watch stream with its object still packed.
type Event struct {
	Type   core.EventType
	Object Packed

	kind schema.GroupVersionKind // of the envelope in protobuf
}

// errorEvent is the type of the event that carries a Status instead of an object.
const errorEvent core.EventType = "ERROR"

// Events reads the body of a watch response. The bytes of an event are valid until the next one is read. An ERROR event
// ends the sequence with a [*core.StatusError]. The sequence ends without an error if the body ends between two events,
// as it does at the timeout of the watch; the error for a body that ends within an event matches io.ErrUnexpectedEOF.
// The sequence can be ranged over once.
//
// Errors: [*core.StatusError], [*TooLargeError]; [*KindError] for an event of another kind than ReadOptions.Kind.
func Events(r io.Reader, contentType string, o *ReadOptions) iter.Seq2[Event, error] {
	opts := o.orDefaults()
	return func(yield func(Event, error) bool) {
		encoding, err := EncodingOf(contentType)
		if err != nil {
			yield(Event{}, err)
			return
		}
		next := eventReader(encoding)(r, opts.Limits)
		for {
			ev, err := next()
			switch {
			case err == io.EOF:
				return
			case err != nil:
			case ev.Type == errorEvent:
				err = eventError(ev.Object)
			default:
				err = ev.checkKind(opts.Kind)
				if err == nil && opts.Rows != nil {
					ev.Object, err = opts.Rows.only(ev.Object.data)
				}
			}
			if err != nil {
				yield(Event{}, err)
				return
			}
			if !yield(ev, nil) {
				return
			}
		}
	}
}

// checkKind refuses an event with an object of another kind.
func (ev *Event) checkKind(want schema.GroupVersionKind) error {
	if want.Empty() {
		return nil
	}
	got := ev.kind
	if ev.Object.encoding != Protobuf {
		var err error
		if got, err = ev.Object.kind(); err != nil {
			return fmt.Errorf("watch event: %w", err)
		}
	}
	if err := CheckKind(got, want); err != nil {
		return fmt.Errorf("watch event: %w", err)
	}
	return nil
}

func eventReader(encoding Encoding) func(io.Reader, *Limits) func() (Event, error) {
	if encoding == Protobuf {
		return protobufEvents
	}
	return jsonEvents
}

// eventError returns the Status of an ERROR event as an error.
func eventError(p Packed) error {
	status := new(metav1.Status)
	if err := p.decodeAny(status); err != nil {
		return fmt.Errorf("decode watch error event: %w", err)
	}
	return &core.StatusError{Status: *status}
}

// jsonEvents reads a stream of JSON objects {"type": …, "object": …}. It returns an event as soon as its object is
// complete, without waiting for the bytes after it.
func jsonEvents(r io.Reader, limits *Limits) func() (Event, error) {
	m := newMeter(r, "watch event", limits)
	dec := jsontext.NewDecoder(m, jsonOptions)
	inside := false // the end of the last event has not been read
	return func() (Event, error) {
		m.reset()
		if inside {
			if err := readEventEnd(dec); err != nil {
				return Event{}, fmt.Errorf("watch event: %w", noEOF(err))
			}
			inside = false
		}
		if dec.PeekKind() == jsontext.KindInvalid {
			_, err := dec.ReadToken() // io.EOF only between two events
			return Event{}, err
		}
		ev, err := readEvent(dec)
		if err == nil {
			err = cmp.Or(m.check(ev.Object.data), checkEvent(ev))
		}
		if err != nil {
			return Event{}, fmt.Errorf("watch event: %w", noEOF(err))
		}
		inside = true
		return ev, nil
	}
}

// readEvent reads an event up to its type and object. Kubernetes sends the type first; other servers may not.
func readEvent(dec *jsontext.Decoder) (Event, error) {
	ev := Event{Object: Packed{encoding: JSON}}
	if err := expect(dec, '{'); err != nil {
		return ev, err
	}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadValue()
		if err != nil {
			return ev, err
		}
		isType, isObject := string(name) == `"type"`, string(name) == `"object"`
		value, err := dec.ReadValue()
		if err != nil {
			return ev, err
		}
		switch {
		case isType:
			ev.Type = core.EventType(text(value))
		case isObject && ev.Type == "":
			ev.Object.data = bytes.Clone(value) // the next read overwrites it
		case isObject:
			ev.Object.data = value
		}
		if ev.Type != "" && ev.Object.data != nil {
			break
		}
	}
	return ev, nil
}

func readEventEnd(dec *jsontext.Decoder) error {
	for dec.PeekKind() != '}' {
		if err := dec.SkipValue(); err != nil {
			return err
		}
	}
	return expect(dec, '}')
}

func checkEvent(ev Event) error {
	switch ev.Type {
	case core.Added, core.Modified, core.Deleted, core.Bookmark, errorEvent:
	default:
		return fmt.Errorf("unknown type %q", ev.Type)
	}
	if ev.Object.data == nil {
		return fmt.Errorf("%s without an object", ev.Type)
	}
	if !ev.Object.isObject() {
		return fmt.Errorf("the object of %s is not a JSON object", ev.Type)
	}
	return nil
}

// protobufEvents reads frames: four bytes of length, then a WatchEvent message whose object is an envelope.
func protobufEvents(r io.Reader, limits *Limits) func() (Event, error) {
	br := bufio.NewReaderSize(r, 16<<10)
	messages := messageReader{r: br, limit: limits.objectBytes(), what: "watch event"}
	var kinds kindParser
	return func() (Event, error) {
		var head [4]byte
		if err := messages.read(head[:]); err != nil {
			return Event{}, err // io.EOF only between two frames
		}
		frame, err := messages.take(uint64(binary.BigEndian.Uint32(head[:])))
		if err != nil {
			return Event{}, fmt.Errorf("watch event: %w", err)
		}
		ev, err := kinds.parseEvent(frame)
		if err == nil {
			err = checkEvent(ev)
		}
		if err != nil {
			return Event{}, fmt.Errorf("watch event: %w", err)
		}
		return ev, nil
	}
}

// A kindParser parses the kinds of the events of one watch, which are nearly always equal.
type kindParser struct {
	encoded []byte // the last kind
	kind    schema.GroupVersionKind
}

func (k *kindParser) parse(encoded []byte) (schema.GroupVersionKind, error) {
	if !bytes.Equal(encoded, k.encoded) || k.kind.Empty() {
		tm, err := parseTypeMeta(encoded)
		if err != nil {
			return schema.GroupVersionKind{}, err
		}
		k.encoded = append(k.encoded[:0], encoded...)
		k.kind = schema.FromAPIVersionAndKind(tm.apiVersion, tm.kind)
	}
	return k.kind, nil
}

func (k *kindParser) parseEvent(frame []byte) (Event, error) {
	ev := Event{Object: Packed{encoding: Protobuf}}
	err := eachField(frame, func(num protowire.Number, value []byte) (err error) {
		switch num {
		case eventType:
			ev.Type = eventTypeOf(value)
		case eventObject:
			ev.Object.data, ev.kind, err = k.parseRawExtension(value)
		default: // unknown
		}
		return err
	})
	return ev, err
}

// eventTypeOf returns a type without allocating memory for a common one.
func eventTypeOf(text []byte) core.EventType {
	for _, t := range []core.EventType{core.Added, core.Modified, core.Deleted} {
		if string(text) == string(t) {
			return t
		}
	}
	return core.EventType(text)
}

// parseRawExtension returns the message in the envelope of a RawExtension, nil if it is missing, and its kind.
func (k *kindParser) parseRawExtension(data []byte) (msg []byte, kind schema.GroupVersionKind, err error) {
	err = eachField(data, func(num protowire.Number, value []byte) error {
		if num != rawExtensionRaw {
			return nil
		}
		encoded, inner, err := splitEnvelope(value)
		if err == nil {
			msg = inner
			kind, err = k.parse(encoded)
		}
		return err
	})
	return msg, kind, err
}
