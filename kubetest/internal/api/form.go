// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"maps"
	"mime"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/core"
)

// form is the form in which a client wants objects.
type form struct {
	metadata bool // only the metadata
}

// form returns the first of the media types of the Accept header that the server has.
func (c *call) form() (form, error) {
	accept := c.Header.Get("Accept")
	if accept == "" {
		return form{}, nil
	}
	text := "406: Not Acceptable\n\nAvailable representations"
	for part := range strings.SplitSeq(accept, ",") {
		mediaType, params, err := mime.ParseMediaType(part)
		if err != nil || mediaType != "application/json" && mediaType != "application/*" && mediaType != "*/*" {
			continue
		}
		switch params["as"] {
		case "", "PartialObjectMetadata", "PartialObjectMetadataList":
			return form{metadata: params["as"] != ""}, nil
		case "Table":
			return form{}, unsupported("tables")
		}
		text = "only the following media types are accepted"
	}
	return form{}, notAcceptable(text)
}

// notAcceptable returns the error for an Accept header without a media type that the server has.
func notAcceptable(text string) error {
	return &core.StatusError{Status: metav1.Status{
		Code: http.StatusNotAcceptable, Reason: metav1.StatusReasonNotAcceptable,
		Message: text + ": application/json, application/yaml, application/vnd.kubernetes.protobuf",
	}}
}

// of returns an object in the form.
func (f form) of(obj *unstructured.Unstructured) any {
	if !f.metadata {
		return obj.Object
	}
	return map[string]any{
		"apiVersion": metav1.SchemeGroupVersion.String(), "kind": "PartialObjectMetadata",
		"metadata": obj.Object["metadata"],
	}
}

// itemOf returns an object of a list in the form. In lists of built-in kinds, objects have no kind of their own.
func (f form) itemOf(k *kind, obj *unstructured.Unstructured) any {
	if f.metadata || k.custom != nil {
		return f.of(obj)
	}
	item := maps.Clone(obj.Object)
	delete(item, "apiVersion")
	delete(item, "kind")
	return item
}

// listOf returns a list of a kind in the form.
func (f form) listOf(k *kind, items []any, meta metav1.ListMeta) any {
	kind := k.Kind + "List"
	if k.custom != nil {
		kind = k.custom.ListKind
	}
	list := map[string]any{"apiVersion": k.APIVersion(), "kind": kind, "metadata": meta, "items": items}
	if f.metadata {
		list["apiVersion"], list["kind"] = metav1.SchemeGroupVersion.String(), "PartialObjectMetadataList"
	}
	return list
}
