// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package openapi

import (
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core/wire"
)

// Definition is a CustomResourceDefinition of apiextensions.k8s.io/v1.
type Definition struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   Spec   `json:"spec"`
	Status Status `json:"status,omitzero"`
}

// Spec is the desired state of a definition.
type Spec struct {
	Group                 string      `json:"group"`
	Names                 Names       `json:"names"`
	Scope                 string      `json:"scope"`
	Versions              []Version   `json:"versions"`
	Conversion            *Conversion `json:"conversion,omitempty"`
	PreserveUnknownFields bool        `json:"preserveUnknownFields,omitempty"`
}

// Status is the observed state of a definition. It is empty in a new definition.
type Status struct {
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
	AcceptedNames      Names              `json:"acceptedNames,omitzero"`
	StoredVersions     []string           `json:"storedVersions,omitempty"`
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
}

// Names contains the names of the kind.
type Names struct {
	Plural     string   `json:"plural"`
	Singular   string   `json:"singular,omitempty"`
	ShortNames []string `json:"shortNames,omitempty"`
	Kind       string   `json:"kind"`
	ListKind   string   `json:"listKind,omitempty"`
	Categories []string `json:"categories,omitempty"`
}

// Version is one version of the kind.
type Version struct {
	Name               string            `json:"name"`
	Served             bool              `json:"served"`
	Storage            bool              `json:"storage"`
	Deprecated         bool              `json:"deprecated,omitempty"`
	DeprecationWarning *string           `json:"deprecationWarning,omitempty"`
	Schema             *Validation       `json:"schema,omitempty"`
	Subresources       *Subresources     `json:"subresources,omitempty"`
	Columns            []Column          `json:"additionalPrinterColumns,omitempty"`
	SelectableFields   []SelectableField `json:"selectableFields,omitempty"`
}

// Validation contains the schema of a version.
type Validation struct {
	OpenAPIV3Schema *Schema `json:"openAPIV3Schema,omitempty"`
}

// Subresources contains the subresources of a version.
type Subresources struct {
	Status *StatusSubresource `json:"status,omitempty"`
	Scale  *Scale             `json:"scale,omitempty"`
}

// StatusSubresource enables the status subresource.
type StatusSubresource struct{}

// Scale contains the field paths of the scale subresource.
type Scale struct {
	SpecReplicasPath   string  `json:"specReplicasPath"`
	StatusReplicasPath string  `json:"statusReplicasPath"`
	LabelSelectorPath  *string `json:"labelSelectorPath,omitempty"`
}

// Column is a printer column.
type Column struct {
	Name        string `json:"name"`
	Type        string `json:"type"`
	Format      string `json:"format,omitempty"`
	Description string `json:"description,omitempty"`
	Priority    int32  `json:"priority,omitempty"`
	JSONPath    string `json:"jsonPath"`
}

// SelectableField is a field that field selectors can use.
type SelectableField struct {
	JSONPath string `json:"jsonPath"`
}

// Conversion configures the conversion between versions.
type Conversion struct {
	Strategy string   `json:"strategy"`
	Webhook  *Webhook `json:"webhook,omitempty"`
}

// Webhook configures a conversion webhook.
type Webhook struct {
	ClientConfig             *ClientConfig `json:"clientConfig,omitempty"`
	ConversionReviewVersions []string      `json:"conversionReviewVersions"`
}

// ClientConfig is the address of a webhook.
type ClientConfig struct {
	URL      *string  `json:"url,omitempty"`
	Service  *Service `json:"service,omitempty"`
	CABundle []byte   `json:"caBundle,omitempty"`
}

// Service refers to a service of the cluster.
type Service struct {
	Namespace string  `json:"namespace"`
	Name      string  `json:"name"`
	Path      *string `json:"path,omitempty"`
	Port      *int32  `json:"port,omitempty"`
}

// Decode decodes a definition from JSON. It ignores unknown, miscased and duplicate fields, and returns a message for
// each.
func Decode(body []byte) (def *Definition, unknown []string, err error) {
	def = &Definition{}
	err = wire.UnmarshalStrict(body, "application/json", def)
	if strict, ok := errors.AsType[*wire.StrictError](err); ok {
		for _, p := range strict.Problems {
			unknown = append(unknown, fmt.Sprintf("%s %q", p.Kind, p.Path))
		}
		err = nil
	}
	for i := range def.Spec.Versions {
		def.Spec.Versions[i].Root().fill()
	}
	return def, unknown, err
}

// Version returns the version with the name, or nil if it does not exist.
func (d *Definition) Version(name string) *Version {
	for i := range d.Spec.Versions {
		if d.Spec.Versions[i].Name == name {
			return &d.Spec.Versions[i]
		}
	}
	return nil
}

// Root returns the schema of a version, or nil if the version has no schema.
func (v *Version) Root() *Schema {
	if v.Schema == nil {
		return nil
	}
	return v.Schema.OpenAPIV3Schema
}
