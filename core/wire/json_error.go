// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// fieldError reports an invalid value and its path. It never quotes strings, which may be secret.
type fieldError struct {
	path   string
	offset int64 // of the value in the bytes
	err    error
}

func (e *fieldError) Error() string {
	if e.path == "" {
		return e.err.Error()
	}
	return e.path + ": " + e.err.Error()
}

func (e *fieldError) Unwrap() error { return e.err }

// errNotJSON is the error of a protobuf message that is said to be JSON, for example by the fake server of a test.
var errNotJSON = errors.New("want JSON, but the data is protobuf, which begins with k8s: the Content-Type must be " +
	"application/vnd.kubernetes.protobuf")

// describe rewrites an error of the JSON library with the path of the field and the terms of Kubernetes.
func describe(err error) error {
	semantic, ok := errors.AsType[*json.SemanticError](err)
	if !ok {
		return err
	}
	e := &fieldError{path: pathOf(semantic.JSONPointer), offset: semantic.ByteOffset, err: mismatch(semantic)}
	if inner, ok := errors.AsType[*fieldError](semantic.Err); ok { // of a value in an empty interface
		e.path = joinPath(e.path, inner.path)
		e.offset += inner.offset
		e.err = inner.err
	}
	return e
}

// isTagError reports whether the library refuses the fields of a struct, for example for a tag with a space.
// encoding/json accepts all, and ignores what it does not understand. The library has no type for these errors. Decoders
// may have similar texts.
func isTagError(err error) bool {
	semantic, ok := errors.AsType[*json.SemanticError](err)
	return ok && semantic.Err != nil && semantic.GoType != nil && semantic.GoType.Kind() == reflect.Struct &&
		strings.Contains(semantic.Err.Error(), "Go struct ") && !readsItself(semantic.GoType)
}

// describeLegacy is describe for an error of legacyErrors. It leaves out errors of decoders, which may quote strings.
func describeLegacy(err error) error {
	if _, ok := errors.AsType[*jsonv1.SyntaxError](err); err == nil || ok {
		return err
	}
	e, ok := errors.AsType[*jsonv1.UnmarshalTypeError](err)
	if !ok {
		return errors.New("a value is invalid")
	}
	kind, _, _ := strings.Cut(e.Value, " ") // the text of the value follows, if it is a number or a string with a number
	path := pathOf(jsontext.Pointer("/" + strings.ReplaceAll(e.Field, ".", "/")))
	return &fieldError{path: path, offset: e.Offset, err: fmt.Errorf("want %s, not %s", wanted(e.Type), kind)}
}

// mismatch returns an error with the expected type and the actual one.
func mismatch(e *json.SemanticError) error {
	number, isNumber := errors.AsType[*strconv.NumError](e.Err)
	_, isTime := errors.AsType[*time.ParseError](e.Err)
	target := e.GoType
	if target != nil && target.Kind() == reflect.Pointer {
		target = target.Elem()
	}
	switch {
	case isTime:
		return errors.New("want a time such as 2006-01-02T15:04:05Z")
	case readsItself(target):
		return fmt.Errorf("want a valid %s", target)
	case isNumber:
		return fmt.Errorf("want %s: %w", wanted(e.GoType), number.Err)
	case e.JSONKind == '0' && len(e.JSONValue) > 0:
		return fmt.Errorf("want %s, not %.40s", wanted(e.GoType), e.JSONValue)
	case e.Err == nil:
		return fmt.Errorf("want %s, not %s", wanted(e.GoType), found(e.JSONKind))
	}
	return e.Err
}

// readsItself reports whether a type has a decoder of its own, whose errors may quote strings. Those of a quantity do
// not.
func readsItself(t reflect.Type) bool {
	if t == nil || t == reflect.TypeFor[resource.Quantity]() {
		return false
	}
	t = reflect.PointerTo(t)
	return t.Implements(reflect.TypeFor[json.Unmarshaler]()) || t.Implements(reflect.TypeFor[json.UnmarshalerFrom]()) ||
		t.Implements(reflect.TypeFor[interface{ UnmarshalText(text []byte) error }]())
}

// wanted returns the name of the JSON type for a Go type.
func wanted(t reflect.Type) string {
	if t == nil {
		return "another value"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return wanted(t.Elem())
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return "base64"
		}
		return "an array"
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "a boolean"
	}
	if kind := t.Kind().String(); kind[0] != 'i' {
		return "a " + kind
	}
	return "an " + t.Kind().String()
}

func found(kind jsontext.Kind) string {
	switch kind {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case '0':
		return "a number"
	default:
		return kind.String()
	}
}

// The bounds of a path and of a name in it.
const (
	maxPathBytes = 1000
	maxNameBytes = 100
)

// pathOf writes a pointer the way Kubernetes writes paths, such as spec.containers[0].image.
func pathOf(pointer jsontext.Pointer) string {
	var path strings.Builder
	for token := range pointer.Tokens() {
		element := pathElement(token)
		if path.Len()+len(element) > maxPathBytes {
			path.WriteString("…")
			break
		}
		if path.Len() > 0 && element[0] != '[' {
			path.WriteByte('.')
		}
		path.WriteString(element)
	}
	return path.String()
}

// pathElement returns one step of a path. It takes a number for an index, since few members have such a name.
func pathElement(token string) string {
	if _, err := strconv.ParseUint(token, 10, 32); err == nil {
		return "[" + token + "]"
	}
	return nameElement(token)
}

// nameElement returns the step to a member. It quotes ambiguous names.
func nameElement(name string) string {
	shown := name
	if len(shown) > maxNameBytes {
		shown = strings.ToValidUTF8(shown[:maxNameBytes], "") + "…"
	}
	if name == "" || strings.ContainsFunc(shown, isOdd) {
		return "[" + strconv.Quote(shown) + "]"
	}
	return shown
}

func isOdd(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-_$…", r)
}

func joinPath(path, element string) string {
	if path == "" || element == "" || element[0] == '[' {
		return path + element
	}
	return path + "." + element
}

// pathAt returns the path of the value at or after an offset, or as much of it as is known.
func pathAt(data []byte, offset int) string {
	dec := jsontext.NewDecoder(bytes.NewReader(data), jsonOptions)
	for dec.InputOffset() < int64(offset) {
		if _, err := dec.ReadToken(); err != nil {
			break
		}
	}
	return pathOf(dec.StackPointer())
}
