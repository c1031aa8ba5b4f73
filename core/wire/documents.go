// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-go/sdk/core"
)

// Document is an object of a stream of YAML or JSON documents.
type Document struct {
	// Kind is the kind of the object.
	Kind schema.GroupVersionKind
	// Object is the object in JSON, with the line breaks of the document. The caller owns its bytes.
	Object Packed
	// Index is the number of the document in the stream, from 1. The items of a list are in one document.
	Index int
	// Line is the line of the stream where the object starts, from 1.
	Line int
}

// Decode decodes the object as [Packed.Decode] does.
//
// Errors: [*DocumentError].
func (d Document) Decode(obj core.Object) error {
	err := d.Object.Decode(obj)
	if err == nil {
		return nil
	}
	line := d.Line
	if field, ok := errors.AsType[*fieldError](err); ok {
		line += bytes.Count(d.Object.data[:min(field.offset, int64(len(d.Object.data)))], []byte("\n"))
	}
	return &DocumentError{Index: d.Index, Line: line, Err: err}
}

// DecodeStrict decodes the object as [Packed.DecodeStrict] does. The lines of problems are lines of the stream.
//
// Errors: [*DocumentError], which wraps a [*StrictError] if the object is valid otherwise.
func (d Document) DecodeStrict(obj core.Object) error {
	err := d.Object.DecodeStrict(obj)
	strict, ok := errors.AsType[*StrictError](err)
	switch {
	case err == nil:
		return nil
	case !ok:
		return d.Decode(obj) // whose error has the line
	}
	for i := range strict.Problems {
		strict.Problems[i].Line += d.Line - 1
	}
	return &DocumentError{Index: d.Index, Line: strict.Problems[0].Line, Err: strict}
}

// DocumentError reports an invalid document of a stream.
type DocumentError struct {
	// Index is the number of the document in the stream, from 1.
	Index int
	// Line is the line of the error in the stream, from 1, or of the start of the document; 0 if it is unknown.
	Line int
	// Err is the reason.
	Err error
}

// Error returns the document, the line and the reason.
func (e *DocumentError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("document %d: %v", e.Index, e.Err)
	}
	return fmt.Sprintf("document %d, line %d: %v", e.Index, e.Line, e.Err)
}

// Unwrap returns the reason.
func (e *DocumentError) Unwrap() error { return e.Err }

// documentBytes is the default bound of a document. Parsing YAML takes many times as much memory.
const documentBytes = 16 << 20

// maxListDepth bounds the nesting of lists in lists.
const maxListDepth = 8

// Documents reads the objects of a stream of YAML or JSON documents, such as a file for kubectl apply. It skips empty
// documents, and yields the items of lists (of kind List or any other) one by one. The sequence can be ranged over
// once; an error ends it. Limits bound one document, by default to 16 MiB.
//
// YAML is read as Kubernetes reads it: y, yes, on and their opposites are booleans, 0777 is octal, and a date is a
// string. Unlike Kubernetes, Documents returns an error for a duplicate name and for a number that JSON can't
// represent.
//
// Errors: [*DocumentError], which wraps a [*TooLargeError] if a document is too large.
func Documents(r io.Reader, limits *Limits) iter.Seq2[Document, error] {
	bounds := documentLimits(limits)
	return func(yield func(Document, error) bool) {
		s := objects{yield: yield}
		s.documents = newDocuments(r, bounds, func(text []byte, line int) error { return s.object(text, line, 0) })
		if err := s.read(); err != nil && err != errStop {
			yield(Document{}, err)
		}
	}
}

// RawDocument is a value of a stream of YAML or JSON documents.
type RawDocument struct {
	// JSON is the value, with the line breaks of the document. The caller owns the bytes.
	JSON []byte
	// Index is the number of the document in the stream, from 1.
	Index int
	// Line is the line of the stream where the value starts, from 1.
	Line int
}

// RawDocuments reads a stream as [Documents] does, but the values need not be Kubernetes objects, such as a kubeconfig,
// and lists stay whole.
//
// Errors: [*DocumentError], which wraps a [*TooLargeError] if a document is too large. The errors quote no values.
func RawDocuments(r io.Reader, limits *Limits) iter.Seq2[RawDocument, error] {
	bounds := documentLimits(limits)
	return func(yield func(RawDocument, error) bool) {
		var s *documents
		s = newDocuments(r, bounds, func(text []byte, line int) error {
			if !yield(RawDocument{JSON: text, Index: s.index, Line: line}, nil) {
				return errStop
			}
			return nil
		})
		if err := s.read(); err != nil && err != errStop {
			yield(RawDocument{}, err)
		}
	}
}

// documents reads a stream.
type documents struct {
	meter *meter
	each  func(text []byte, line int) error
	index int // of the document that is being read
	lines int // before the document
}

// documentLimits returns a copy of limits, with the default for documents.
func documentLimits(limits *Limits) Limits {
	if limits != nil && limits.ObjectBytes > 0 {
		return *limits
	}
	return Limits{ObjectBytes: documentBytes}
}

func newDocuments(r io.Reader, bounds Limits, each func(text []byte, line int) error) *documents {
	return &documents{meter: newMeter(r, "document", &bounds), each: each, index: 1}
}

// read reads JSON documents, and the rest of the stream as YAML from the first document that is not JSON. The YAML
// parser does not accept all JSON.
func (s *documents) read() error {
	dec := jsontext.NewDecoder(s.meter, jsonOptions, jsontext.AllowDuplicateNames(false))
	for {
		s.meter.reset()
		kind := dec.PeekKind()
		space := dec.UnreadBuffer()
		space = space[:skipSpace(space, 0)]
		line := s.lines + bytes.Count(space, []byte("\n")) + 1
		var raw []byte
		var err error
		switch kind {
		case '{':
			raw, err = dec.ReadValue()
		case jsontext.KindInvalid:
			_, err = dec.ReadToken()
		default: // YAML
		}
		syntax, isSyntax := errors.AsType[*jsontext.SyntacticError](err)
		switch {
		case errors.Is(err, jsontext.ErrDuplicateName): // which YAML forbids as well
			read := dec.UnreadBuffer()
			line += bytes.Count(read[:min(int64(len(read)), syntax.ByteOffset-dec.InputOffset())], []byte("\n"))
			return s.fail(line, fmt.Errorf("%s is there twice: remove one", nameElement(syntax.JSONPointer.LastToken())))
		case err != nil && err != io.EOF && !isSyntax:
			return s.fail(line, err)
		}
		if raw == nil {
			rest := bytes.NewReader(bytes.Clone(dec.UnreadBuffer()))
			return s.readYAML(io.MultiReader(rest, s.meter))
		}
		if err := s.meter.check(raw); err != nil {
			return s.fail(line, err)
		}
		if err := s.each(bytes.Clone(raw), line); err != nil {
			return err
		}
		s.lines = line - 1 + bytes.Count(raw, []byte("\n"))
		s.index++
	}
}

func (s *documents) readYAML(r io.Reader) error {
	source := keepError{r: r}
	for dec := yaml.NewDecoder(&source); ; s.index++ {
		s.meter.reset()
		var node yaml.Node
		err := dec.Decode(&node)
		switch {
		case source.err != nil:
			return s.fail(s.lines+1, source.err)
		case err == io.EOF:
			return nil
		case err != nil:
			line, err := yamlError(err)
			if line > 0 {
				line += s.lines
			}
			return s.fail(line, err)
		}
		root := content(&node)
		if root == nil {
			continue
		}
		text, line, err := yamlToJSON(root, s.meter.limit)
		if err != nil {
			return s.fail(s.lines+line, err)
		}
		if err := s.each(text, s.lines+root.Line); err != nil {
			return err
		}
	}
}

func (s *documents) fail(line int, err error) error {
	return &DocumentError{Index: s.index, Line: line, Err: err}
}

// objects yields the objects of a stream.
type objects struct {
	*documents
	yield func(Document, error) bool
}

// object yields an object, or the items of a list.
func (s *objects) object(data []byte, line, depth int) error {
	var apiVersion, kind string
	var items member
	err := eachMember(data, func(m member) error {
		switch string(m.name) {
		case "apiVersion":
			apiVersion = text(m.value)
		case "kind":
			kind = text(m.value)
		case "items":
			items = m
		}
		return nil
	})
	if err != nil {
		return s.fail(line, errors.New("want an object, with apiVersion and kind"))
	}
	if apiVersion == "" || kind == "" {
		return s.fail(line, errors.New("apiVersion and kind must be set, to strings"))
	}
	version, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return s.fail(line, errors.New("apiVersion must be VERSION or GROUP/VERSION"))
	}
	if element, ok := strings.CutSuffix(kind, "List"); ok && isList(items.value) {
		return s.list(data, items, line, depth, typeMeta{apiVersion, element})
	}
	d := Document{Kind: version.WithKind(kind), Object: Packed{JSON, data}, Index: s.index, Line: line}
	if !s.yield(d, nil) {
		return errStop
	}
	return nil
}

func isList(items []byte) bool {
	kind := jsontext.Value(items).Kind()
	return kind == '[' || kind == 'n'
}

// list yields the items of a list. The items of a list of one kind, such as PodList, need no kind.
func (s *objects) list(data []byte, items member, line, depth int, tm typeMeta) error {
	if depth == maxListDepth {
		return s.fail(line, fmt.Errorf("lists are nested more than %d deep", maxListDepth))
	}
	base, counted := items.end-len(items.value), 0 // lines are counted up to there
	return eachElement(items.value, func(start, end int) error {
		line += bytes.Count(data[counted:base+start], []byte("\n"))
		counted = base + start
		item := items.value[start:end]
		if jsontext.Value(item).Kind() != '{' {
			return s.fail(line, errors.New("want an object as item of the list"))
		}
		return s.object(withKind(item, tm), line, depth+1)
	})
}

// withKind returns a copy of an object, with the given kind if the object has none.
func withKind(object []byte, tm typeMeta) []byte {
	for _, name := range []string{"apiVersion", "kind"} {
		if found, err := findMember(object, name); err != nil || found.value != nil || tm.kind == "" {
			return bytes.Clone(object)
		}
	}
	out := []byte(`{"apiVersion":`)
	out, _ = jsontext.AppendQuote(out, tm.apiVersion) // an error means invalid UTF-8, which it replaces
	out, _ = jsontext.AppendQuote(append(out, `,"kind":`...), tm.kind)
	rest := object[skipSpace(object, 0)+1:]
	if rest[skipSpace(rest, 0)] != '}' {
		out = append(out, ',')
	}
	return append(out, rest...)
}

// keepError keeps the error of the reader, which the YAML decoder returns only as text.
type keepError struct {
	r   io.Reader
	err error
}

func (k *keepError) Read(p []byte) (int, error) {
	n, err := k.r.Read(p)
	if err != nil && err != io.EOF {
		k.err = err
	}
	return n, err
}
