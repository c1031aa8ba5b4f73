// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kube-go/sdk/core/internal/tree"
	"github.com/kube-go/sdk/core/request"
)

// maxCopied bounds how many values the copy operations of a patch make, since each can double a document.
const maxCopied = 1 << 20

// ApplyJSON returns what the operations of a JSON patch make of a document, one after the other, by RFC 6902. Servers also
// make some that the RFC forbids: they replace and copy what is not there, and take -1 and 01 for indexes of a list. Of
// what can be done to the whole document, whose path is empty, they only replace it, and test it.
//
// Errors: [*OpError], which names the first operation that can't be made.
func ApplyJSON[T any](doc T, ops ...request.Op) (T, error) {
	var none T
	root, err := tree.Of(doc)
	if err != nil {
		return none, fmt.Errorf("document: %w", err)
	}
	d := document{root: root, copies: maxCopied}
	for i, op := range ops {
		if err := d.apply(op); err != nil {
			return none, &OpError{Index: i, Op: op, Err: err}
		}
	}
	result, err := tree.Into[T](d.root)
	if err != nil {
		return none, fmt.Errorf("patched document: %w", err)
	}
	return result, nil
}

// OpError says which operation of a JSON patch can't be made.
type OpError struct {
	Index int
	Op    request.Op
	Err   error
}

// Error names the operation, but not its value, which may be secret.
func (e *OpError) Error() string {
	return fmt.Sprintf("patch operation %d: %s %s: %v", e.Index, e.Op.Op, e.Op.Path, e.Err)
}

// Unwrap returns Err.
func (e *OpError) Unwrap() error { return e.Err }

// ErrTest is why an [*OpError] of a test operation is one: what is there is something else.
var ErrTest = errors.New("the value is another")

var errMissing = errors.New("there is nothing at the path")

// document is what operations are made to.
type document struct {
	root   any
	copies int // how many values may yet be copied
}

func (d *document) apply(op request.Op) error {
	switch op.Op {
	case "remove":
		_, err := d.remove(op.Path)
		return err
	case "move":
		if strings.HasPrefix(op.Path, op.From+"/") {
			return fmt.Errorf("%s can't be moved into itself", op.From)
		}
		value, err := d.remove(op.From)
		if err != nil {
			return fmt.Errorf("from %s: %w", op.From, err)
		}
		return d.add(op.Path, value)
	case "copy":
		value, err := d.find(op.From)
		if err != nil {
			return fmt.Errorf("from %s: %w", op.From, err)
		}
		if d.copies -= count(value); d.copies < 0 {
			return fmt.Errorf("the patch copies more than %d values", maxCopied)
		}
		return d.add(op.Path, tree.Copy(value))
	}
	value, err := tree.Of(jsonOf(op.Value))
	if err != nil {
		return fmt.Errorf("value: %w", err)
	}
	switch op.Op {
	case "add":
		return d.add(op.Path, value)
	case "replace":
		return d.replace(op.Path, value)
	case "test":
		return d.test(op.Path, value)
	}
	return errors.New("is none of add, remove, replace, move, copy, test")
}

// jsonOf keeps a value that is text from being taken for JSON.
func jsonOf(value any) any { return &value }

func (d *document) test(path string, want any) error {
	got, err := d.find(path)
	if err != nil {
		return err
	}
	if !tree.Equal(got, want) {
		return ErrTest
	}
	return nil
}

func (d *document) find(path string) (any, error) {
	parts, err := split(path)
	if err != nil {
		return nil, err
	}
	value := d.root
	for _, part := range parts {
		switch container := value.(type) {
		case map[string]any:
			inner, ok := container[part]
			if !ok {
				return nil, errMissing
			}
			value = inner
		case []any:
			i, err := index(part, len(container)-1)
			if err != nil {
				return nil, err
			}
			value = container[i]
		default:
			return nil, errMissing
		}
	}
	return value, nil
}

func (d *document) add(path string, value any) error {
	return d.change(path, func(object map[string]any, name string) error {
		object[name] = value
		return nil
	}, func(list []any, part string) ([]any, error) {
		if part == "-" {
			return append(list, value), nil
		}
		i, err := index(part, len(list))
		if err != nil {
			return nil, err
		}
		return slices.Insert(list, i, value), nil
	}, value)
}

func (d *document) replace(path string, value any) error {
	return d.change(path, func(object map[string]any, name string) error {
		if _, ok := object[name]; !ok {
			return errMissing
		}
		object[name] = value
		return nil
	}, func(list []any, part string) ([]any, error) {
		i, err := index(part, len(list)-1)
		if err != nil {
			return nil, err
		}
		list[i] = value
		return list, nil
	}, value)
}

func (d *document) remove(path string) (old any, err error) {
	if old, err = d.find(path); err != nil {
		return nil, err
	}
	return old, d.change(path, func(object map[string]any, name string) error {
		delete(object, name)
		return nil
	}, func(list []any, part string) ([]any, error) {
		i, err := index(part, len(list)-1)
		if err != nil {
			return nil, err
		}
		return slices.Delete(list, i, i+1), nil
	}, nil)
}

// change changes the object or the list that the path's last part is in. A list is replaced by what inList returns.
// The empty path means the whole document.
func (d *document) change(path string, inObject func(map[string]any, string) error,
	inList func([]any, string) ([]any, error), whole any,
) error {
	if path == "" {
		d.root = whole
		return nil
	}
	parent := path[:max(0, strings.LastIndexByte(path, '/'))]
	container, err := d.find(parent)
	if err != nil {
		return err
	}
	last := unescape(path[len(parent)+1:])
	switch container := container.(type) {
	case map[string]any:
		return inObject(container, last)
	case []any:
		list, err := inList(container, last)
		if err != nil {
			return err
		}
		return d.replace(parent, list)
	}
	return errMissing
}

// split returns the parts of a JSON pointer.
func split(path string) ([]string, error) {
	if path == "" {
		return nil, nil
	}
	if path[0] != '/' {
		return nil, fmt.Errorf("%q is not a JSON pointer, such as /metadata/labels/app", path)
	}
	parts := strings.Split(path[1:], "/")
	for i, part := range parts {
		parts[i] = unescape(part)
	}
	return parts, nil
}

// index reads the index of a list, which may be at most last.
func index(part string, last int) (int, error) {
	i, err := strconv.Atoi(part)
	if err != nil || strconv.Itoa(i) != part || i < 0 {
		return 0, fmt.Errorf("%q is no index of a list", part)
	}
	if i > last {
		return 0, fmt.Errorf("index %d is beyond the list's end", i)
	}
	return i, nil
}

// count returns of how many values a value is made.
func count(value any) int {
	n := 1
	switch value := value.(type) {
	case map[string]any:
		for _, v := range value {
			n += count(v)
		}
	case []any:
		for _, v := range value {
			n += count(v)
		}
	}
	return n
}
