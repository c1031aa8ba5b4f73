// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package shape

import (
	"maps"
	"slices"

	"github.com/invopop/jsonschema"

	"github.com/kube-go/sdk/derive/internal/structural"
)

// quantityPattern matches quantities, see
// https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/.
const quantityPattern = `^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$`

// Known returns the schema of a well-known type whose encoding differs from its Go fields, or nil for other types.
func Known(path, name string) *jsonschema.Schema {
	extra := func(s *jsonschema.Schema, key string) *jsonschema.Schema {
		s.Extras = map[string]any{key: true}
		return s
	}
	const apiextensions = "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/"
	switch path + "." + name {
	case "k8s.io/apimachinery/pkg/apis/meta/v1.Time", "time.Time":
		return &jsonschema.Schema{Type: "string", Format: "date-time"}
	case "k8s.io/apimachinery/pkg/apis/meta/v1.MicroTime": // decoding requires a fraction
		return typically(&jsonschema.Schema{Type: "string", Format: "date-time"}, "2024-01-01T00:00:00.000000Z")
	case "k8s.io/apimachinery/pkg/apis/meta/v1.Duration":
		return typically(&jsonschema.Schema{Type: "string"}, "1h0m0s")
	case "k8s.io/apimachinery/pkg/apis/meta/v1.ObjectMeta":
		return embeddedMeta()
	case "k8s.io/apimachinery/pkg/api/resource.Quantity":
		return typically(extra(&jsonschema.Schema{Pattern: quantityPattern}, structural.KeyIntOrString), "1")
	case "k8s.io/apimachinery/pkg/util/intstr.IntOrString":
		return extra(&jsonschema.Schema{}, structural.KeyIntOrString)
	case "k8s.io/apimachinery/pkg/runtime.RawExtension", "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured.Unstructured",
		"k8s.io/apimachinery/pkg/apis/meta/v1.FieldsV1":
		return AnyObject()
	case apiextensions + "v1.JSON", apiextensions + "v1beta1.JSON", "encoding/json.RawMessage":
		return extra(&jsonschema.Schema{}, structural.KeyPreserveUnknownFields)
	case "encoding/json.Number": // a string in Go, a number in JSON
		return &jsonschema.Schema{Type: "number"}
	}
	return nil
}

// typically returns a copy of a schema with a typical value.
func typically(s *jsonschema.Schema, value any) *jsonschema.Schema {
	out := *s
	if out.Extras = maps.Clone(s.Extras); out.Extras == nil {
		out.Extras = map[string]any{}
	}
	out.Extras[structural.KeyTypical] = value
	return &out
}

// Text returns the schema of a type that implements encoding.TextMarshaler.
func Text(path, name string) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	switch path + "." + name {
	case "net.IP", "net/netip.Addr":
		return typically(s, "192.0.2.1")
	case "net/netip.AddrPort":
		return typically(s, "192.0.2.1:80")
	case "net/netip.Prefix":
		return typically(s, "192.0.2.0/24")
	case "math/big.Int", "math/big.Float", "math/big.Rat":
		return typically(s, "1")
	case "log/slog.Level":
		return typically(s, "INFO")
	case "github.com/google/uuid.UUID":
		return typically(s, "123e4567-e89b-42d3-a456-426614174000")
	}
	return s
}

// embeddedMeta returns the schema of the metadata of an embedded object, such as a pod template, with the fields that
// users can set. Without this schema, servers would drop labels and annotations.
func embeddedMeta() *jsonschema.Schema {
	text := &jsonschema.Schema{Type: "string"}
	strs := &jsonschema.Schema{Type: "object", AdditionalProperties: text}
	s := Object()
	s.Properties.Set("annotations", strs)
	s.Properties.Set("finalizers", &jsonschema.Schema{Type: "array", Items: text})
	s.Properties.Set("labels", strs)
	s.Properties.Set("name", text)
	s.Properties.Set("namespace", text)
	return s
}

// Object returns the schema of an object without properties.
func Object() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "object", Properties: jsonschema.NewProperties()}
}

// AnyObject returns the schema of an object with any fields.
func AnyObject() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "object", Extras: map[string]any{structural.KeyPreserveUnknownFields: true}}
}

// Basic returns the schema of a predeclared Go type, or nil if the type is not supported in objects.
func Basic(name string) *jsonschema.Schema {
	switch name {
	case "bool":
		return &jsonschema.Schema{Type: "boolean"}
	case "string":
		return &jsonschema.Schema{Type: "string"}
	case "int", "int8", "int16", "uint", "uint8", "uint16":
		return &jsonschema.Schema{Type: "integer"}
	case "int32", "uint32":
		return &jsonschema.Schema{Type: "integer", Format: "int32"}
	case "int64", "uint64":
		return &jsonschema.Schema{Type: "integer", Format: "int64"}
	case "float32", "float64":
		return &jsonschema.Schema{Type: "number"}
	}
	return nil
}

// Bytes returns the schema of a slice of bytes.
func Bytes() *jsonschema.Schema { return &jsonschema.Schema{Type: "string", Format: "byte"} }

// Array returns the schema of an array with a fixed number of items, because Go drops additional items.
func Array(n int64, items *jsonschema.Schema) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "array", Items: items, MinItems: new(uint64(n)), MaxItems: new(uint64(n))}
}

// TypeSchema returns the schema for the results of the methods OpenAPISchemaType and OpenAPISchemaFormat, or nil if the
// types are not supported.
func TypeSchema(names []string, format string) *jsonschema.Schema {
	switch {
	case len(names) == 1 && isType(names[0]):
		s := &jsonschema.Schema{Type: names[0], Format: format}
		anything := map[string]any{structural.KeyPreserveUnknownFields: true}
		switch s.Type { // the contents are unknown
		case "object":
			s.Extras = anything
		case "array":
			s.Items = &jsonschema.Schema{Extras: anything}
		}
		return s
	case len(names) == 2 && (names[0] == "integer" && names[1] == "string" || names[0] == "string" && names[1] == "integer"):
		return &jsonschema.Schema{Extras: map[string]any{structural.KeyIntOrString: true}}
	}
	return nil
}

// Types returns the types that a schema can have.
func Types() []string { return []string{"string", "integer", "number", "boolean", "array", "object"} }

func isType(name string) bool { return slices.Contains(Types(), name) }

// AsString returns the schema of a field with the option string in its json tag: numbers and booleans become strings,
// and strings are quoted twice.
func AsString(p *jsonschema.Schema, typ string) *jsonschema.Schema {
	switch typ {
	case "integer", "number":
		return typically(&jsonschema.Schema{Type: "string"}, "1")
	case "boolean":
		return typically(&jsonschema.Schema{Type: "string"}, "true")
	case "string":
		return typically(p, `"example"`)
	}
	return p
}
