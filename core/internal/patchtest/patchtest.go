// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package patchtest applies patches, so that tests can compare the result of a diff with the expected object.
package patchtest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kube-go/sdk/core/internal/tree"
	"github.com/kube-go/sdk/core/request"
)

// ApplyJSON returns a document after a JSON patch, see RFC 6902. It supports the operations of diffs: add, remove and
// replace. The document and the values are encoded first, so the result shares no memory with them.
func ApplyJSON(doc any, ops []request.Op) (any, error) {
	root, err := tree.Of(doc)
	if err != nil {
		return nil, err
	}
	for _, op := range ops {
		value, err := tree.Of(&op.Value)
		if err != nil {
			return nil, err
		}
		if root, err = apply(root, strings.Split(op.Path, "/")[1:], op.Op, value); err != nil {
			return nil, fmt.Errorf("%s %s: %w", op.Op, op.Path, err)
		}
	}
	return root, nil
}

// apply returns target after an operation at the path.
func apply(target any, path []string, op string, value any) (any, error) {
	if len(path) == 0 {
		return value, nil
	}
	last := len(path) == 1
	switch target := target.(type) {
	case map[string]any:
		name := strings.NewReplacer("~1", "/", "~0", "~").Replace(path[0])
		member, ok := target[name]
		if !ok && (!last || op != "add") {
			return nil, fmt.Errorf("member %q does not exist", name)
		}
		if last && op == "remove" {
			delete(target, name)
			return target, nil
		}
		member, err := apply(member, path[1:], op, value)
		target[name] = member
		return target, err
	case []any:
		i, err := strconv.Atoi(path[0])
		switch {
		case err != nil || i < 0 || i > len(target) || i == len(target) && (!last || op != "add"):
			return nil, fmt.Errorf("%q is not an index of a list of %d", path[0], len(target))
		case last && op == "add":
			return slices.Insert(target, i, value), nil
		case last && op == "remove":
			return slices.Delete(target, i, i+1), nil
		}
		target[i], err = apply(target[i], path[1:], op, value)
		return target, err
	}
	return nil, fmt.Errorf("%q does not exist", path[0])
}

// ApplyMerge returns a document after a JSON merge patch, see RFC 7396.
func ApplyMerge(doc, patch any) (any, error) {
	target, err := tree.Of(doc)
	if err != nil {
		return nil, err
	}
	change, err := tree.Of(patch)
	return merge(target, change), err
}

func merge(target, change any) any {
	changes, ok := change.(map[string]any)
	if !ok {
		return change
	}
	object, ok := target.(map[string]any)
	if !ok {
		object = map[string]any{}
	}
	for name, change := range changes {
		if change == nil {
			delete(object, name)
		} else {
			object[name] = merge(object[name], change)
		}
	}
	return object
}
