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
	Cluster    bool // cluster-scoped

	Description string
	Annotations map[string]string // of the CRD
	Labels      map[string]string // of the CRD

	Storage    *bool // nil means only if the kind has no other version
	Served     bool
	Deprecated bool
	Warning    string // for users of a deprecated version

	HasStatus  bool // it has the status subresource
	Scale      *Scale
	Columns    []Column
	Selectable []Path
	Rules      []structural.Rule // on the object as a whole
	Conversion *Conversion       // nil if this version does not set it
	Diagrams   []Diagram         // for its documentation

	Package string // the import path of the package that defines it
	Pos     token.Position
	Root    *types.TypeName // the complete type, or nil if it is generated
	Spec    *types.TypeName // the spec from which the type is generated
	Status  *types.TypeName // the status, or nil
}

// Path is a simple JSON path, with its position in the source.
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

// Scale has the paths of the scale subresource.
type Scale struct {
	SpecReplicas   string
	StatusReplicas string
	LabelSelector  string
	Pos            token.Position
}

// Conversion configures how servers convert objects between the versions of a kind.
type Conversion struct {
	Webhook   bool // false means that servers only change the apiVersion
	Namespace string
	Service   string
	Path      string
	Port      string // empty for the default
	URL       string // instead of a service
	Reviews   []string
	Pos       token.Position
}

// Column is a column that kubectl get prints.
type Column struct {
	Path

	Name        string
	Type        string // empty to infer it from the schema
	Description string
	Format      string
	Priority    string
}

// CRDName returns the name of the kind's CustomResourceDefinition.
func (k *Kind) CRDName() string { return k.Plural + "." + k.Group }

// APIVersion returns the group and the version of the kind, as in the field apiVersion.
func (k *Kind) APIVersion() string { return k.Group + "/" + k.Version }

// Subresources returns the names of the kind's subresources.
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
