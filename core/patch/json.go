// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/kube-go/sdk/core/internal/tree"
	"github.com/kube-go/sdk/core/request"
)

// DiffJSON returns the JSON patch, RFC 6902, that turns from into to: the operations for request.JSONPatch. It returns
// none if they are equal. It recognizes moved items of lists by their names, or if they are equal.
func DiffJSON(from, to any, o *Options) ([]request.Op, error) {
	a, b, err := values(from, to, o)
	if err != nil {
		return nil, err
	}
	var ops opList
	if o != nil && o.Lock && !tree.Equal(a, b) {
		version, err := lockedVersion(a, b)
		if err != nil {
			return nil, err
		}
		keepVersion(b, version)
		if !tree.Equal(a, b) {
			// The server refuses a failed test as invalid, but another resource version as a conflict.
			ops.add("replace", "/metadata/resourceVersion", version)
		}
	}
	ops.diff("", a, b)
	return ops, nil
}

// keepVersion sets the resource version of an object, which may have none. An operation that removes it would make the
// server accept the patch at any version.
func keepVersion(v any, version string) {
	object, ok := v.(map[string]any)
	if !ok {
		return
	}
	metadata, ok := object["metadata"].(map[string]any)
	if !ok {
		metadata = map[string]any{}
		object["metadata"] = metadata
	}
	metadata["resourceVersion"] = version
}

// opList collects operations.
type opList []request.Op

func (l *opList) add(op, path string, value any) {
	if value == nil && op != "remove" {
		value = jsontext.Value("null")
	}
	*l = append(*l, request.Op{Op: op, Path: path, Value: value})
}

func (l *opList) diff(path string, from, to any) {
	switch to := to.(type) {
	case map[string]any:
		if from, ok := from.(map[string]any); ok {
			l.diffObjects(path, from, to)
			return
		}
	case []any:
		if from, ok := from.([]any); ok {
			l.diffLists(path, from, to)
			return
		}
	}
	if !tree.Equal(from, to) {
		l.add("replace", path, to)
	}
}

func (l *opList) diffObjects(path string, from, to map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(from)) {
		at := path + "/" + escape(name)
		if value, ok := to[name]; ok {
			l.diff(at, from[name], value)
		} else {
			l.add("remove", at, nil)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(to)) {
		if _, ok := from[name]; !ok {
			l.add("add", path+"/"+escape(name), to[name])
		}
	}
}

// diffLists goes from left to right, so an index refers to the list after the preceding operations.
func (l *opList) diffLists(path string, from, to []any) {
	i := 0
	for _, step := range tree.Align(from, to) {
		at := path + "/" + strconv.Itoa(i)
		switch {
		case step.To < 0:
			l.add("remove", at, nil)
			continue
		case step.From < 0:
			l.add("add", at, to[step.To])
		case step.Kin:
			l.diff(at, from[step.From], to[step.To])
		default:
			l.add("replace", at, to[step.To])
		}
		i++
	}
}

// escape returns a name as a token of a JSON pointer, RFC 6901.
func escape(name string) string {
	if !strings.ContainsAny(name, "~/") {
		return name
	}
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}
