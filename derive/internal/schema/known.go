// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"go/token"
	"go/types"

	"github.com/invopop/jsonschema"

	"github.com/kube-go/sdk/derive/internal/load"
	"github.com/kube-go/sdk/derive/internal/structural"
)

// quantityPattern is what a quantity looks like as a text, see
// https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/.
const quantityPattern = `^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$`

// known returns the schema of a type whose wire format its fields don't show, nil for all others.
func known(obj *types.TypeName) *jsonschema.Schema {
	extra := func(s *jsonschema.Schema, key string) *jsonschema.Schema {
		s.Extras = map[string]any{key: true}
		return s
	}
	const apiextensions = "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	switch obj.Pkg().Path() + "." + obj.Name() {
	case "k8s.io/apimachinery/pkg/apis/meta/v1.Time", "k8s.io/apimachinery/pkg/apis/meta/v1.MicroTime", "time.Time":
		return &jsonschema.Schema{Type: "string", Format: "date-time"}
	case "k8s.io/apimachinery/pkg/apis/meta/v1.Duration":
		return &jsonschema.Schema{Type: "string"}
	case "k8s.io/apimachinery/pkg/apis/meta/v1.FieldsV1":
		return extra(&jsonschema.Schema{Type: "object"}, structural.KeyPreserveUnknownFields)
	case "k8s.io/apimachinery/pkg/apis/meta/v1.ObjectMeta":
		return embeddedMeta()
	case "k8s.io/apimachinery/pkg/api/resource.Quantity":
		return extra(&jsonschema.Schema{Pattern: quantityPattern}, structural.KeyIntOrString)
	case "k8s.io/apimachinery/pkg/util/intstr.IntOrString":
		return extra(&jsonschema.Schema{}, structural.KeyIntOrString)
	case "k8s.io/apimachinery/pkg/runtime.RawExtension", "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured.Unstructured":
		return extra(&jsonschema.Schema{Type: "object"}, structural.KeyPreserveUnknownFields)
	case apiextensions + ".JSON", "encoding/json.RawMessage":
		return extra(&jsonschema.Schema{}, structural.KeyPreserveUnknownFields)
	}
	return nil
}

// embeddedMeta describes the metadata of an object inside of another, such as a pod template: what a user may write. A
// schema without these would make servers drop labels and annotations.
func embeddedMeta() *jsonschema.Schema {
	text := &jsonschema.Schema{Type: "string"}
	texts := &jsonschema.Schema{Type: "object", AdditionalProperties: text}
	s := object()
	s.Properties.Set("annotations", texts)
	s.Properties.Set("finalizers", &jsonschema.Schema{Type: "array", Items: text})
	s.Properties.Set("labels", texts)
	s.Properties.Set("name", text)
	s.Properties.Set("namespace", text)
	return s
}

// marshaler describes a type that encodes itself; it returns nil for all others, and for structs, which usually still
// encode the fields that they have.
func (b *Builder) marshaler(t *types.Named, decl *load.Decl) *jsonschema.Schema {
	_, isStruct := t.Underlying().(*types.Struct)
	switch {
	case implements(t, "MarshalJSON"):
		if decl.Has("kubebuilder:validation:Type") {
			return &jsonschema.Schema{}
		}
		if !isStruct && b.strict(t.Obj()) {
			return b.refuse("it has a MarshalJSON of its own, so its Go type does not tell its schema",
				"say it with +kubebuilder:validation:Type")
		}
	case implements(t, "MarshalText"):
		return &jsonschema.Schema{Type: "string"}
	}
	return nil
}

// implements reports whether a type or a pointer to it has a method () ([]byte, error) that it does not get from an
// embedded field.
func implements(t *types.Named, method string) bool {
	obj, index, _ := types.LookupFieldOrMethod(types.NewPointer(t), true, t.Obj().Pkg(), method)
	f, ok := obj.(*types.Func)
	if !ok || len(index) != 1 {
		return false
	}
	want := types.NewSignatureType(nil, nil, nil, nil, types.NewTuple(
		types.NewVar(token.NoPos, nil, "", types.NewSlice(types.Typ[types.Byte])),
		types.NewVar(token.NoPos, nil, "", types.Universe.Lookup("error").Type()),
	), false)
	return types.Identical(f.Signature(), want)
}
