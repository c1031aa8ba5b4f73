// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// renderer turns responses into the lines of a script.
type renderer struct {
	names *names
	show  []string // prefixes of paths; empty for the default
	brief bool     // show only the code and the reason of errors
	list  bool     // the object is a list or a bookmark: its version is that of no object
	pages bool     // the response continues a list, so its version may be known
}

// body returns the lines of a response's body.
func (r renderer) body(data []byte) []string {
	obj := object(data)
	if obj == nil {
		return r.text(data)
	}
	if _, ok := obj["items"]; ok {
		return r.items(obj)
	}
	return r.lines(obj)
}

// text returns the lines of a body that is not an object.
func (r renderer) text(data []byte) []string {
	if len(data) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSpace(r.names.shorten(string(data))), "\n")
}

// lines returns one line for each field of an object.
func (r renderer) lines(obj map[string]any) []string {
	var lines []string
	r.walk("", obj, &lines)
	return lines
}

// line returns the shown fields of an item or an event.
func (r renderer) line(obj map[string]any) string { return strings.Join(r.lines(obj), ", ") }

// items returns the fields of a list, and a line for each item, or one for the names of all items.
func (r renderer) items(obj map[string]any) []string {
	items, _ := obj["items"].([]any) // null is an empty list
	delete(obj, "items")
	head := r
	head.show, head.list = nil, true
	lines := head.lines(obj)
	var names []string
	for _, item := range items {
		o, _ := item.(map[string]any)
		if len(r.show) > 0 {
			lines = append(lines, "- "+r.line(o))
			continue
		}
		meta, _ := o["metadata"].(map[string]any)
		names = append(names, r.names.shorten(fmt.Sprint(meta["name"])))
	}
	if len(r.show) == 0 {
		lines = append(lines, strings.TrimSpace("items: "+strings.Join(names, " ")))
	}
	return lines
}

// status returns the code with the reason, and the lines of the fields, of an error. It reports false for any other
// object.
func (r renderer) status(code int, data []byte) (string, []string, bool) {
	var s struct {
		Kind, APIVersion, Status, Reason, Message string

		Metadata map[string]any
		Code     int
		Details  json.RawMessage
	}
	if json.Unmarshal(data, &s) != nil || s.Kind != "Status" || s.APIVersion != "v1" || s.Status != "Failure" ||
		s.Code != code || len(s.Metadata) > 0 {
		return "", nil, false
	}
	first := strings.TrimSpace(fmt.Sprintf("%d %s", s.Code, s.Reason))
	if r.brief {
		return first, nil, true
	}
	details := object(s.Details)
	causes, _ := details["causes"].([]any)
	delete(details, "causes")
	lines := []string{"message: " + r.scalar("message", withoutCauses(s.Message, causes))}
	r.show = nil
	if len(details) > 0 {
		lines = append(lines, r.lines(map[string]any{"details": details})...)
	}
	return first, append(lines, r.causes(causes)...), true
}

// causes returns a line for each cause, without repeated ones, in alphabetical order: real servers validate some
// fields twice, and in any order.
func (r renderer) causes(causes []any) []string {
	var lines []string
	for _, c := range causes {
		cause, _ := c.(map[string]any)
		line := fmt.Sprint(cause["reason"], " | ", cause["field"], " | ", cause["message"])
		lines = append(lines, "cause: "+r.names.shorten(line))
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

// withoutCauses returns a message in which a list of the causes, and nothing else, is replaced by <causes>.
func withoutCauses(message string, causes []any) string {
	start, list, ok := strings.Cut(message, " is invalid: [")
	if !ok || len(causes) < 2 {
		return message
	}
	for _, c := range causes {
		cause, _ := c.(map[string]any)
		list = strings.Replace(list, fmt.Sprint(cause["field"], ": ", cause["message"]), "", 1)
	}
	if strings.Trim(list, ", ") != "]" {
		return message
	}
	return start + " is invalid: [<causes>]"
}

// walk appends a line for each shown field of a value.
func (r renderer) walk(path string, value any, lines *[]string) {
	switch v := value.(type) {
	case map[string]any:
		if len(v) == 0 && path != "" {
			break
		}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			child := k
			if strings.ContainsAny(k, ".") {
				child = "[" + k + "]"
			}
			r.walk(strings.TrimPrefix(path+"."+child, "."), v[k], lines)
		}
		return
	case []any:
		if len(v) == 0 {
			break
		}
		if path == "metadata.managedFields" {
			r.managed(v, lines)
			return
		}
		for i, item := range v {
			r.walk(fmt.Sprintf("%s[%d]", path, i), item, lines)
		}
		return
	}
	if r.list && path == "metadata.continue" && value == "" { // sent for custom kinds only
		return
	}
	if r.shows(path) {
		*lines = append(*lines, r.names.shorten(path)+": "+r.scalar(path, value))
	}
}

// managed appends a line for each manager of fields. Their times are not shown, and so their order, which depends on
// them, does not matter.
func (r renderer) managed(entries []any, lines *[]string) {
	if !r.shows("metadata.managedFields") {
		return
	}
	var managers []string
	for _, entry := range entries {
		e, _ := entry.(map[string]any)
		words := []string{"metadata.managedFields:"}
		for _, name := range []string{"manager", "operation", "subresource", "apiVersion", "fieldsType", "fieldsV1"} {
			switch value := e[name].(type) {
			case nil:
			case string:
				words = append(words, r.names.shorten(value))
			default:
				words = append(words, encode(value))
			}
		}
		managers = append(managers, strings.Join(words, " "))
	}
	*lines = append(*lines, slices.Sorted(slices.Values(managers))...)
}

// shows reports whether a field is shown.
func (r renderer) shows(path string) bool {
	if len(r.show) == 0 {
		return path != "metadata.managedFields"
	}
	return slices.ContainsFunc(r.show, func(prefix string) bool {
		rest, ok := strings.CutPrefix(path, prefix)
		return ok && (prefix == "" || rest == "" || strings.ContainsAny(rest[:1], ".["))
	})
}

// scalar returns a value, or its name. Strings are shown without quotes if that is unambiguous.
func (r renderer) scalar(path string, value any) string {
	s, ok := value.(string)
	if !ok {
		return r.names.shorten(encode(value))
	}
	switch {
	case path == "metadata.resourceVersion" || strings.HasSuffix(path, ".resourceVersion"):
		if s == "" {
			return `""`
		}
		return r.version(s)
	case path == "metadata.continue" && s != "":
		return r.names.fresh("$continue", s)
	case strings.HasSuffix(path, ".uid") && len(s) == len("00000000-0000-0000-0000-000000000000"):
		return r.names.name("$uid", s)
	case path == "metadata.name" && strings.HasPrefix(s, "gen-"):
		return r.names.name("$name", s)
	}
	s = r.names.shorten(s)
	if s == "" || strings.TrimSpace(s) != s || strings.ContainsAny(s[:1], `"{[`) || strings.Contains(s, "\n") ||
		json.Valid([]byte(s)) {
		return encode(s)
	}
	return s
}

// version returns the name of a resource version. That of a list may be any version since the last write of the case,
// so it has a new name.
func (r renderer) version(s string) string {
	switch {
	case !r.list:
		return r.names.name("$rv", s)
	case r.pages:
		return r.names.name("$list", s)
	default:
		return r.names.fresh("$list", s)
	}
}

// encode returns a value in JSON, with map keys in alphabetical order.
func encode(value any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return err.Error()
	}
	return strings.TrimSpace(b.String())
}

// object decodes an object, or returns nil if data is not one.
func object(data []byte) map[string]any {
	var obj map[string]any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if d.Decode(&obj) != nil {
		return nil
	}
	return obj
}

// nameOf returns metadata.name of an object in JSON, or an empty string.
func nameOf(data []byte) string {
	meta, _ := object(data)["metadata"].(map[string]any)
	name, _ := meta["name"].(string)
	return name
}
