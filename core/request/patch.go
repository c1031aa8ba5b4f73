// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/kube-go/sdk/core/wire"
)

// A Patch describes changes to an object. It is made by [JSONPatch], [MergePatch] or [StrategicMergePatch].
type Patch struct {
	contentType string
	body        any // []Op for a JSON patch
}

const (
	typeJSONPatch           = "application/json-patch+json"
	typeMergePatch          = "application/merge-patch+json"
	typeStrategicMergePatch = "application/strategic-merge-patch+json"
)

// JSONPatch returns a patch of operations, RFC 6902.
func JSONPatch(ops ...Op) Patch {
	return Patch{typeJSONPatch, ops}
}

// Op is one operation of a JSON patch.
type Op struct {
	Op    string `json:"op"`             // add, remove, replace, move, copy or test
	Path  string `json:"path"`           // a JSON pointer, such as /metadata/labels/app
	From  string `json:"from,omitempty"` // for move and copy
	Value any    `json:"value,omitzero"` // for add, replace and test; to send null, use a json.RawMessage
}

// check refuses an operation that is invalid for every server.
func (o Op) check(i int) error {
	field := fmt.Sprintf("patch operation %d", i)
	switch o.Op {
	case "add", "replace", "test":
		if o.Value == nil {
			return invalid(field, "%s needs a Value; to send null, use json.RawMessage(\"null\")", o.Op)
		}
	case "move", "copy":
		if !isPointer(o.From) {
			return invalid(field, "From %q is not a JSON pointer, such as /metadata/labels/app", o.From)
		}
	case "remove":
	default:
		return invalid(field, "%q is not valid; use add, remove, replace, move, copy or test", o.Op)
	}
	switch moves := o.Op == "move" || o.Op == "copy"; {
	case !isPointer(o.Path):
		return invalid(field, "Path %q is not a JSON pointer, such as /metadata/labels/app", o.Path)
	case o.From != "" && !moves:
		return invalid(field, "%s does not use From, only move and copy do; remove it", o.Op)
	case o.Value != nil && (moves || o.Op == "remove"):
		return invalid(field, "%s does not use Value, only add, replace and test do; remove it", o.Op)
	}
	return nil
}

func isPointer(s string) bool { return s == "" || s[0] == '/' }

// MergePatch returns a JSON merge patch, RFC 7396: fields of body replace those of the object, null removes one, and
// lists are replaced whole. Body is a value that encodes to a JSON object, or JSON as []byte or string.
func MergePatch(body any) Patch {
	return Patch{typeMergePatch, body}
}

// StrategicMergePatch returns a patch that merges lists by their keys. The server knows it for built-in kinds only, see
// https://kubernetes.io/docs/tasks/manage-kubernetes-objects/update-api-object-kubectl-patch/.
// Body is a value that encodes to a JSON object, or JSON as []byte or string.
func StrategicMergePatch(body any) Patch {
	return Patch{typeStrategicMergePatch, body}
}

// encode returns the patch's JSON.
func (p Patch) encode() ([]byte, error) {
	if ops, ok := p.body.([]Op); ok && p.contentType == typeJSONPatch {
		return encodeOps(ops)
	}
	switch body := p.body.(type) {
	case nil:
		return nil, invalid("patch", "is empty; make one with MergePatch, JSONPatch or StrategicMergePatch")
	case []byte:
		return body, checkPatch(body)
	case string:
		return []byte(body), checkPatch([]byte(body))
	}
	data, err := wire.MarshalJSON(p.body)
	if err != nil {
		return nil, invalid("patch", "%v", err)
	}
	return data, checkPatch(data)
}

func encodeOps(ops []Op) ([]byte, error) {
	if len(ops) == 0 {
		return []byte("[]"), nil
	}
	for i, op := range ops {
		if err := op.check(i); err != nil {
			return nil, err
		}
	}
	data, err := wire.MarshalJSON(ops)
	if err != nil {
		return nil, invalid("patch", "%v", err)
	}
	return data, nil
}

// checkPatch refuses a merge patch that is not a JSON object: it would replace the whole object.
func checkPatch(data []byte) error {
	v := jsontext.Value(data)
	if !v.IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) || v.Kind() != '{' {
		return invalid("patch", "must be a JSON object")
	}
	return nil
}

// PatchObject builds the request that changes an object by a patch.
func PatchObject(t Target, p Patch, o *PatchOptions) (*Request, error) {
	path, err := t.path(needObject)
	if err != nil {
		return nil, err
	}
	if err := t.checkWrite(); err != nil {
		return nil, err
	}
	body, err := p.encode()
	if err != nil {
		return nil, err
	}
	if o == nil {
		o = &PatchOptions{}
	}
	q := url.Values{}
	if err := encodeWrite(q, "PatchOptions.", o.DryRun, cmp.Or(o.FieldManager, t.FieldManager), o.FieldValidation); err != nil {
		return nil, err
	}
	return &Request{
		Verb: "patch", Method: "PATCH", Path: path, Query: q,
		Accept: t.accept(), ContentType: p.contentType, Body: body, Target: t,
		Conditional: p.conditional(body),
	}, nil
}

// conditional reports whether the encoded patch has the resource version that the object must have.
func (p Patch) conditional(body []byte) bool {
	if p.contentType == typeJSONPatch {
		return slices.ContainsFunc(p.body.([]Op), func(op Op) bool { return op.Path == "/metadata/resourceVersion" })
	}
	var object struct {
		Metadata struct {
			ResourceVersion any `json:"resourceVersion"`
		} `json:"metadata"`
	}
	return wire.UnmarshalJSON(body, &object) != nil || object.Metadata.ResourceVersion != nil
}
