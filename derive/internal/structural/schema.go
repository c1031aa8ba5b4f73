// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package structural

import (
	"encoding/json"
)

// Schema is a structural schema, with the keywords of apiextensions.k8s.io/v1.
type Schema struct {
	Title        string        `json:"title,omitempty"`
	Description  string        `json:"description,omitempty"`
	ExternalDocs *ExternalDocs `json:"externalDocs,omitempty"`
	Example      any           `json:"example,omitempty"`
	Default      any           `json:"default,omitempty"`

	Type     string `json:"type,omitempty"`
	Format   string `json:"format,omitempty"`
	Nullable bool   `json:"nullable,omitempty"`
	Enum     []any  `json:"enum,omitempty"`

	Properties           map[string]*Schema `json:"properties,omitempty"`
	Required             []string           `json:"required,omitempty"`
	AdditionalProperties *Schema            `json:"additionalProperties,omitempty"`
	MaxProperties        *uint64            `json:"maxProperties,omitempty"`
	MinProperties        *uint64            `json:"minProperties,omitempty"`

	Items    *Schema `json:"items,omitempty"`
	MaxItems *uint64 `json:"maxItems,omitempty"`
	MinItems *uint64 `json:"minItems,omitempty"`

	MaxLength *uint64 `json:"maxLength,omitempty"`
	MinLength *uint64 `json:"minLength,omitempty"`
	Pattern   string  `json:"pattern,omitempty"`

	Maximum          json.Number `json:"maximum,omitempty"`
	ExclusiveMaximum bool        `json:"exclusiveMaximum,omitempty"`
	Minimum          json.Number `json:"minimum,omitempty"`
	ExclusiveMinimum bool        `json:"exclusiveMinimum,omitempty"`
	MultipleOf       json.Number `json:"multipleOf,omitempty"`

	AllOf []*Schema `json:"allOf,omitempty"`
	AnyOf []*Schema `json:"anyOf,omitempty"`
	OneOf []*Schema `json:"oneOf,omitempty"`
	Not   *Schema   `json:"not,omitempty"`

	EmbeddedResource      bool     `json:"x-kubernetes-embedded-resource,omitempty"`
	IntOrString           bool     `json:"x-kubernetes-int-or-string,omitempty"`
	PreserveUnknownFields bool     `json:"x-kubernetes-preserve-unknown-fields,omitempty"`
	ListType              string   `json:"x-kubernetes-list-type,omitempty"`
	ListMapKeys           []string `json:"x-kubernetes-list-map-keys,omitempty"`
	MapType               string   `json:"x-kubernetes-map-type,omitempty"`
	Validations           []Rule   `json:"x-kubernetes-validations,omitempty"`

	// Descriptions is DescriptionsKeep or DescriptionsDrop, or empty if neither the type nor the field specifies it.
	Descriptions string `json:"-"`

	// Typical is a value that the Go type can decode, if the other keywords allow values that it can't decode.
	Typical any `json:"-"`

	origins map[string]origin // origins of embedded properties
}

// ExternalDocs refers to external documentation.
type ExternalDocs struct {
	Description string `json:"description,omitempty"`
	URL         string `json:"url,omitempty"`
}

// Rule is a CEL validation rule.
type Rule struct {
	FieldPath         string `json:"fieldPath,omitempty"`
	Message           string `json:"message,omitempty"`
	MessageExpression string `json:"messageExpression,omitempty"`
	OptionalOldSelf   *bool  `json:"optionalOldSelf,omitempty"`
	Reason            string `json:"reason,omitempty"`
	Rule              string `json:"rule"`
}

// The keys of a document's Extras, with the types of their values. They are equal to the keywords in the structural
// schema.
const (
	KeyNullable              = "nullable"                             // bool
	KeyExternalDocs          = "externalDocs"                         // *ExternalDocs
	KeyEmbeddedResource      = "x-kubernetes-embedded-resource"       // bool
	KeyIntOrString           = "x-kubernetes-int-or-string"           // bool
	KeyPreserveUnknownFields = "x-kubernetes-preserve-unknown-fields" // bool
	KeyListType              = "x-kubernetes-list-type"               // string
	KeyListMapKeys           = "x-kubernetes-list-map-keys"           // []string
	KeyMapType               = "x-kubernetes-map-type"                // string
	KeyValidations           = "x-kubernetes-validations"             // []Rule
	KeyDescriptions          = "x-kube-descriptions"                  // string; not part of the output
	KeyTypical               = "x-kube-typical"                       // any value; not part of the output
)

// The values of KeyDescriptions.
const (
	DescriptionsKeep = "keep" // never shorten this description
	DescriptionsDrop = "drop" // drop the descriptions of subschemas
)
