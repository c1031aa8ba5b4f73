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

// Spec is what a definition asks for.
type Spec struct {
	Group                 string      `json:"group"`
	Names                 Names       `json:"names"`
	Scope                 string      `json:"scope"`
	Versions              []Version   `json:"versions"`
	Conversion            *Conversion `json:"conversion,omitempty"`
	PreserveUnknownFields bool        `json:"preserveUnknownFields,omitempty"`
}

// Status is what a server says of a definition. A new definition has none.
type Status struct {
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
	AcceptedNames      Names              `json:"acceptedNames,omitzero"`
	StoredVersions     []string           `json:"storedVersions,omitempty"`
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
}

// Names is what the kind is called.
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

// Validation holds the schema of a version.
type Validation struct {
	OpenAPIV3Schema *Schema `json:"openAPIV3Schema,omitempty"`
}

// Subresources are the parts of an object that have a path of their own.
type Subresources struct {
	Status *StatusSubresource `json:"status,omitempty"`
	Scale  *Scale             `json:"scale,omitempty"`
}

// StatusSubresource says that there is one.
type StatusSubresource struct{}

// Scale says where the numbers of replicas are.
type Scale struct {
	SpecReplicasPath   string  `json:"specReplicasPath"`
	StatusReplicasPath string  `json:"statusReplicasPath"`
	LabelSelectorPath  *string `json:"labelSelectorPath,omitempty"`
}

// Column is a column of a table.
type Column struct {
	Name        string `json:"name"`
	Type        string `json:"type"`
	Format      string `json:"format,omitempty"`
	Description string `json:"description,omitempty"`
	Priority    int32  `json:"priority,omitempty"`
	JSONPath    string `json:"jsonPath"`
}

// SelectableField is a field that field selectors may use.
type SelectableField struct {
	JSONPath string `json:"jsonPath"`
}

// Conversion is how versions become one another.
type Conversion struct {
	Strategy string   `json:"strategy"`
	Webhook  *Webhook `json:"webhook,omitempty"`
}

// Webhook is who converts.
type Webhook struct {
	ClientConfig             *ClientConfig `json:"clientConfig,omitempty"`
	ConversionReviewVersions []string      `json:"conversionReviewVersions"`
}

// ClientConfig is how a webhook is called.
type ClientConfig struct {
	URL      *string  `json:"url,omitempty"`
	Service  *Service `json:"service,omitempty"`
	CABundle []byte   `json:"caBundle,omitempty"`
}

// Service is a service of the cluster.
type Service struct {
	Namespace string  `json:"namespace"`
	Name      string  `json:"name"`
	Path      *string `json:"path,omitempty"`
	Port      *int32  `json:"port,omitempty"`
}

// Decode reads a definition from JSON. The names that it should not have are returned by their paths; all else is read.
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

// Version returns the version of a name, nil when there is none.
func (d *Definition) Version(name string) *Version {
	for i := range d.Spec.Versions {
		if d.Spec.Versions[i].Name == name {
			return &d.Spec.Versions[i]
		}
	}
	return nil
}

// Root returns the schema of a version's objects, nil when there is none.
func (v *Version) Root() *Schema {
	if v.Schema == nil {
		return nil
	}
	return v.Schema.OpenAPIV3Schema
}
