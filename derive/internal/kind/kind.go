// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"go/token"
	"go/types"

	"github.com/kube-go/sdk/derive/internal/structural"
)

// Kind is one version of a kind.
type Kind struct {
	Group      string
	Version    string
	Name       string
	Plural     string
	Singular   string
	ShortNames []string
	Categories []string
	Cluster    bool // its objects live in no namespace

	Description string
	Annotations map[string]string // of the CRD
	Labels      map[string]string // of the CRD

	Storage    *bool // nil: when there is no other version
	Served     bool
	Deprecated bool
	Warning    string // what users of a deprecated version are told

	HasStatus  bool // as a subresource
	Scale      *Scale
	Columns    []Column
	Selectable []Path
	Rules      []structural.Rule // on the object as a whole
	Conversion *Conversion       // nil when this version does not say
	Diagrams   []Diagram         // for its documentation

	Package string // the import path of the package that defines it
	Pos     token.Position
	Root    *types.TypeName // the type, when it is written out
	Spec    *types.TypeName // otherwise: the spec that it is generated from,
	Status  *types.TypeName // and the status, nil when it has none
}

// Path is a simple JSON path, with the place where it is written.
type Path struct {
	Path string
	Pos  token.Position
}

// Diagram is a file with a diagram of a kind, such as of the states of its objects.
type Diagram struct {
	File  string // relative to the folder of the source with the marker
	Title string
	Pos   token.Position
}

// Scale is where the scale subresource finds its numbers.
type Scale struct {
	SpecReplicas   string
	StatusReplicas string
	LabelSelector  string
	Pos            token.Position
}

// Conversion says how servers convert objects between the versions of a kind.
type Conversion struct {
	Webhook   bool // false: they change nothing but the apiVersion
	Namespace string
	Service   string
	Path      string
	Port      string // "" for the default
	URL       string // instead of a service
	Reviews   []string
	Pos       token.Position
}

// Column is a column that kubectl get prints.
type Column struct {
	Path

	Name        string
	Type        string // "" to infer it from the schema
	Description string
	Format      string
	Priority    string
}

// CRDName returns the name of the kind's CustomResourceDefinition.
func (k *Kind) CRDName() string { return k.Plural + "." + k.Group }

// APIVersion returns the kind's group and version as objects spell them.
func (k *Kind) APIVersion() string { return k.Group + "/" + k.Version }

// Subresources returns the names of the subresources that the kind has.
func (k *Kind) Subresources() []string {
	var names []string
	if k.HasStatus {
		names = append(names, "status")
	}
	if k.Scale != nil {
		names = append(names, "scale")
	}
	return names
}
