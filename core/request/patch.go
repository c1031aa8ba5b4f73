// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"net/url"

	"github.com/kube-go/sdk/core/wire"
)

// A Patch is a description of changes to an object, made by [JSONPatch], [MergePatch] or [StrategicMergePatch].
type Patch struct {
	contentType string
	body        any
}

// JSONPatch returns a patch of operations, RFC 6902. Each is a value that encodes to JSON; [Op] is one.
func JSONPatch(ops ...Op) Patch {
	if ops == nil {
		ops = []Op{}
	}
	return Patch{"application/json-patch+json", ops}
}

// Op is one operation of a JSON patch.
type Op struct {
	Op    string `json:"op"`             // add, remove, replace, move, copy or test
	Path  string `json:"path"`           // a JSON pointer, such as /metadata/labels/app
	From  string `json:"from,omitempty"` // for move and copy
	Value any    `json:"value,omitzero"` // for add, replace and test; to send null, use a json.RawMessage
}

// MergePatch returns a JSON merge patch, RFC 7396: fields of body replace those of the object, null removes one, and
// lists are replaced whole. Body is a value that encodes to a JSON object, or JSON as []byte.
func MergePatch(body any) Patch {
	return Patch{"application/merge-patch+json", body}
}

// StrategicMergePatch returns a patch that merges lists by their keys. The server knows it for built-in kinds only, see
// https://kubernetes.io/docs/tasks/manage-kubernetes-objects/update-api-object-kubectl-patch/.
// Body is a value that encodes to a JSON object, or JSON as []byte.
func StrategicMergePatch(body any) Patch {
	return Patch{"application/strategic-merge-patch+json", body}
}

// encode returns the patch's JSON.
func (p Patch) encode() ([]byte, error) {
	switch body := p.body.(type) {
	case nil:
		return nil, invalid("patch", "is empty; make one with MergePatch, JSONPatch or StrategicMergePatch")
	case []byte:
		return body, nil
	case string:
		return []byte(body), nil
	}
	data, err := wire.MarshalJSON(p.body)
	if err != nil {
		return nil, invalid("patch", "%v", err)
	}
	return data, nil
}

// PatchObject builds the request that changes an object by a patch.
func PatchObject(t Target, p Patch, o *PatchOptions) (*Request, error) {
	path, err := t.path(needObject)
	if err != nil {
		return nil, err
	}
	body, err := p.encode()
	if err != nil {
		return nil, err
	}
	q := url.Values{}
	if o != nil {
		if err := encodeWrite(q, "PatchOptions.", o.DryRun, o.FieldManager, o.FieldValidation); err != nil {
			return nil, err
		}
	}
	return &Request{
		Verb: "patch", Method: "PATCH", Path: path, Query: q,
		Accept: t.accept(), ContentType: p.contentType, Body: body,
	}, nil
}
