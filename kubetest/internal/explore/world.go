// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package explore

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/kubetest/internal/journal"
	"github.com/kube-go/sdk/kubetest/internal/store"
)

// ConflictAnnotation is the annotation that a [Conflict] sets.
const ConflictAnnotation = "kubetest/another-client"

// The paths of the numbers of creations and deletions.
const (
	creations = "(creations)"
	deletions = "(deletions)"
)

// minUID is the length of the shortest UID that is replaced. Shorter ones are not generated, and may be parts of words.
const minUID = 16

// absent is the value of a field that does not exist.
const absent = "absent"

// World is the state after a run: the values of the fields of all objects as JSON, by the object and the path of the
// field. It has only what is the same in each run: no UIDs, versions and times.
type World map[Field]string

// Field identifies a field. Without a path, it is the existence of the object, or a number.
type Field struct{ Object, Path string }

// NewWorld returns the state of the objects of a server. Normalize, which may be nil, changes a copy of each object.
func NewWorld(
	objects iter.Seq2[store.Key, *unstructured.Unstructured], j *journal.Journal, normalize func(*unstructured.Unstructured),
) World {
	var pairs []string
	for generated, generic := range j.Generated() {
		pairs = append(pairs, generated, generic)
	}
	byName := make(map[string][]map[string]any)
	for key, obj := range objects {
		if !j.Matters(key.GroupResource, obj) {
			continue
		}
		obj = obj.DeepCopy()
		if normalize != nil {
			normalize(obj)
		}
		if uid := string(obj.GetUID()); len(uid) >= minUID {
			pairs = append(pairs, uid, "uid")
		}
		name := j.Name(key)
		byName[name] = append(byName[name], obj.Object)
	}
	n := normalizer{strings.NewReplacer(pairs...)}
	w := make(World)
	for name, group := range byName {
		n.add(w, name, group)
	}
	for name, c := range j.Counts() {
		w[Field{name, creations}] = fmt.Sprint(c.Created)
		w[Field{name, deletions}] = fmt.Sprint(c.Deleted)
	}
	return w
}

// normalizer removes from objects what differs in each run.
type normalizer struct{ names *strings.Replacer }

// add adds the objects of a name. There can be several if the name is generated.
func (n normalizer) add(w World, name string, objects []map[string]any) {
	texts := make([]string, len(objects))
	byText := make(map[string]map[string]any)
	for i, obj := range objects {
		n.metadata(obj)
		obj, _ = n.value("", obj).(map[string]any)
		if status, ok := obj["status"].(map[string]any); ok {
			removeGenerations(status)
		}
		text, _ := json.Marshal(obj) // it was decoded from JSON
		texts[i], byText[string(text)] = string(text), obj
	}
	slices.Sort(texts)
	for i, text := range texts {
		numbered := name
		if i > 0 {
			numbered = fmt.Sprintf("%s %d", name, i+1)
		}
		w[Field{Object: numbered}] = "exists"
		flatten(w, numbered, "", byText[text])
	}
}

// metadata removes the metadata that differs in each run.
func (normalizer) metadata(obj map[string]any) {
	meta, _ := obj["metadata"].(map[string]any)
	for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"} {
		delete(meta, field)
	}
	if annotations, ok := meta["annotations"].(map[string]any); ok {
		if delete(annotations, ConflictAnnotation); len(annotations) == 0 {
			delete(meta, "annotations")
		}
	}
}

// value returns a value without names, times and versions.
func (n normalizer) value(field string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			if key != "observedGeneration" && key != "resourceVersion" {
				out[n.names.Replace(key)] = n.value(key, value)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = n.value("", item)
		}
		if !slices.ContainsFunc(out, func(item any) bool { return sortKey(field, item) == "" }) {
			slices.SortStableFunc(out, func(a, b any) int { return cmp.Compare(sortKey(field, a), sortKey(field, b)) })
		}
		return out
	case string:
		if _, err := time.Parse(time.RFC3339, v); err == nil {
			return "time"
		}
		return n.names.Replace(v)
	default:
		return v
	}
}

// sortKey returns what the items of a list are sorted by if their order does not matter: finalizers, conditions, and
// references to objects. It is empty for other items.
func sortKey(field string, item any) string {
	obj, _ := item.(map[string]any)
	switch {
	case field == "finalizers":
		return fmt.Sprint(item)
	case field == "conditions":
		return fmt.Sprint(obj["type"])
	case obj["kind"] != nil && obj["name"] != nil:
		return fmt.Sprint(obj["kind"], obj["namespace"], obj["name"])
	default:
		return ""
	}
}

// removeGenerations removes from a status the generations that it is for, and the hashes of package inventory.
func removeGenerations(status map[string]any) {
	delete(status, "generation")
	for key, value := range status {
		switch value := value.(type) {
		case map[string]any:
			removeGenerations(value)
		case []any:
			if key != "inventory" {
				continue
			}
			for _, item := range value {
				if item, ok := item.(map[string]any); ok {
					delete(item, "hash")
					delete(item, "part")
				}
			}
		}
	}
}

// flatten adds the values of fields. Empty maps and lists have a value, too.
func flatten(w World, object, path string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if strings.ContainsAny(key, "./") {
				key = fmt.Sprintf("[%s]", key)
			}
			flatten(w, object, strings.TrimPrefix(path+"."+key, "."), value)
		}
		if len(v) > 0 {
			return
		}
	case []any:
		for i, value := range v {
			flatten(w, object, fmt.Sprintf("%s[%d]", path, i), value)
		}
		if len(v) > 0 {
			return
		}
	}
	text, _ := json.Marshal(v) // it was decoded from JSON
	w[Field{object, path}] = string(text)
}

// Diff returns the fields that differ between two states.
func (w World) Diff(other World) map[Field]bool {
	fields := make(map[Field]bool)
	for _, world := range []World{w, other} {
		for f := range world {
			if w.get(f) != other.get(f) {
				fields[f] = true
			}
		}
	}
	return fields
}

// Counts returns whether a field is a number of creations or deletions.
func (f Field) Counts() bool { return f.Path == creations || f.Path == deletions }

// Explain describes fields that differ from another state, in one line for each. The words, such as "without faults",
// say which one it is.
func (w World) Explain(fields map[Field]bool, other World, words string) []string {
	var lines []string
	for f := range fields {
		got, want := w.get(f), other.get(f)
		switch exists := (Field{Object: f.Object}); {
		case f == exists && want == absent:
			lines = append(lines, fmt.Sprintf("%s exists, but not %s", f.Object, words))
		case f == exists:
			lines = append(lines, fmt.Sprintf("%s does not exist, but %s it does", f.Object, words))
		case f.Counts():
			verb := map[string]string{creations: "created", deletions: "deleted"}[f.Path]
			lines = append(lines, fmt.Sprintf("%s was %s %s times, %s %s times", f.Object, verb, got, words, want))
		case fields[exists]: // covered by the line of the object
		default:
			lines = append(lines, fmt.Sprintf("%s: %s is %s, %s %s", f.Object, f.Path, got, words, want))
		}
	}
	slices.Sort(lines)
	return lines
}

// get returns the value of a field.
func (w World) get(f Field) string {
	v, ok := w[f]
	switch {
	case ok:
		return v
	case f.Counts():
		return "0"
	default:
		return absent
	}
}
