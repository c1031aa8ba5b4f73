// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package fakeapi

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/internal/fakesource"
)

// plain returns the JSON value of an object.
func plain(obj core.Object) map[string]any {
	data, err := wire.MarshalJSON(obj)
	if err != nil {
		panic(err)
	}
	var m map[string]any
	if err := wire.UnmarshalJSON(data, &m); err != nil {
		panic(err)
	}
	return m
}

// put stores an object with a new version, and with a new UID if it is new.
func (k *kind) put(m map[string]any) string {
	obj := &unstructured.Unstructured{Object: m}
	obj.SetGroupVersionKind(k.Resource().GroupVersionKind())
	version := k.Put(obj)
	k.objects[core.RefOf(obj)] = m
	return version
}

func (k *kind) remove(ref core.ObjectRef) string {
	delete(k.objects, ref)
	return k.Delete(ref)
}

func (t target) get() (any, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if m, ok := t.objects[t.ref]; ok {
		return m, nil
	}
	return nil, t.notFound()
}

func (t target) notFound() error {
	err := fakesource.Status(404, metav1.StatusReasonNotFound)
	err.Status.Details = &metav1.StatusDetails{Name: t.ref.Name, Kind: t.Resource().Plural}
	return err
}

// write responds to a request that changes an object. Every patch is treated as a merge patch, and an apply as one that
// may create the object. Like on a real server, an object that does not change keeps its version, and an object that is
// being deleted is removed with its last finalizer; the response then has the version before the removal.
func (t target) write(r *http.Request) (obj any, created bool, err error) {
	if r.Header.Get("Content-Type") == wire.MediaTypeProtobuf {
		return nil, false, fakesource.Status(415, metav1.StatusReasonUnsupportedMediaType)
	}
	var sent map[string]any
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		if err == nil && len(body) > 0 {
			err = wire.UnmarshalJSON(body, &sent)
		}
		if err != nil {
			return nil, false, err
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if r.Method == http.MethodPost {
		obj := unstructured.Unstructured{Object: sent}
		obj.SetNamespace(t.ref.Namespace)
		t.ref = core.RefOf(&obj)
	}
	old, ok := t.objects[t.ref]
	switch apply := r.Method == http.MethodPatch && r.URL.Query().Get("fieldManager") != ""; {
	case r.Method == http.MethodPost && ok:
		return nil, false, fakesource.Status(409, metav1.StatusReasonAlreadyExists)
	case r.Method != http.MethodPost && !ok && !apply:
		return nil, false, t.notFound()
	}
	switch r.Method {
	case http.MethodDelete:
		if !meets(old, sent) {
			return nil, false, fakesource.Status(409, metav1.StatusReasonConflict)
		}
		t.remove(t.ref)
		return &metav1.Status{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusSuccess,
			Details: &metav1.StatusDetails{Name: t.ref.Name, UID: (&unstructured.Unstructured{Object: old}).GetUID()},
		}, false, nil
	case http.MethodPatch:
		merged := runtime.DeepCopyJSON(old)
		if merged == nil {
			merged = make(map[string]any)
		}
		merge(merged, sent)
		sent = merged
	}
	if v := version(sent); v != "" && v != version(old) {
		return nil, false, fakesource.Status(409, metav1.StatusReasonConflict)
	}
	if ok && reflect.DeepEqual(sent, old) {
		return old, false, nil
	}
	before, after := unstructured.Unstructured{Object: old}, unstructured.Unstructured{Object: sent}
	if len(before.GetFinalizers()) > 0 && len(after.GetFinalizers()) == 0 && before.GetDeletionTimestamp() != nil {
		t.remove(t.ref)
		after.SetResourceVersion(version(old))
		return sent, false, nil
	}
	t.put(sent)
	return sent, !ok, nil
}

// meets reports whether an object meets the preconditions of a delete.
func meets(obj, options map[string]any) bool {
	uid, _, _ := unstructured.NestedString(options, "preconditions", "uid")
	v, _, _ := unstructured.NestedString(options, "preconditions", "resourceVersion")
	return (v == "" || v == version(obj)) && (uid == "" || uid == string((&unstructured.Unstructured{Object: obj}).GetUID()))
}

func version(m map[string]any) string {
	return (&unstructured.Unstructured{Object: m}).GetResourceVersion()
}

// merge applies a merge patch.
func merge(to, patch map[string]any) {
	for name, value := range patch {
		m, isMap := value.(map[string]any)
		was, wasMap := to[name].(map[string]any)
		switch {
		case value == nil:
			delete(to, name)
		case isMap && wasMap:
			merge(was, m)
		default:
			to[name] = value
		}
	}
}

// list responds to a request for one page.
func (t target) list(r *http.Request) (any, error) {
	selected, err := selection(r, t)
	if err != nil {
		return nil, err
	}
	items, view := []json.RawMessage{}, viewOf(r)
	meta, err := t.List(r.Context(), listOptions(r), func(p wire.Packed) error {
		if selected(p) {
			items = append(items, view(p.Bytes()))
		}
		return nil
	})
	kind := t.Resource().GroupVersionKind()
	if metadataOnly(r) {
		kind = metadataKind()
	}
	return map[string]any{
		"kind":       kind.Kind + "List",
		"apiVersion": kind.GroupVersion().String(),
		"metadata":   meta,
		"items":      items,
	}, err
}

// metadataOnly reports whether a request accepts only the metadata of objects.
func metadataOnly(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadata")
}

func metadataKind() schema.GroupVersionKind {
	return metav1.SchemeGroupVersion.WithKind("PartialObjectMetadata")
}

// viewOf returns a function that copies the JSON of an object, or only its metadata if the request accepts only that.
func viewOf(r *http.Request) func([]byte) json.RawMessage {
	if !metadataOnly(r) {
		return func(object []byte) json.RawMessage { return bytes.Clone(object) }
	}
	return func(object []byte) json.RawMessage {
		var whole struct {
			Metadata json.RawMessage `json:"metadata"`
		}
		if err := json.Unmarshal(object, &whole); err != nil {
			panic(err)
		}
		apiVersion, kind := metadataKind().ToAPIVersionAndKind()
		part, err := json.Marshal(map[string]any{"kind": kind, "apiVersion": apiVersion, "metadata": whole.Metadata})
		if err != nil {
			panic(err)
		}
		return part
	}
}
