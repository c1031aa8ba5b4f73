// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package derive

import (
	"errors"
	"fmt"
	"go/token"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/derive/internal/crd"
	"github.com/kube-go/sdk/derive/internal/kind"
	"github.com/kube-go/sdk/derive/internal/reflected"
	"github.com/kube-go/sdk/derive/internal/structural"
)

// Options contains properties of a kind that its Go type does not define.
type Options struct {
	// Resource contains the names, the scope and the subresources of the kind. Default: the result of
	// [core.ResourceOf].
	Resource core.Resource

	Columns          []Column // columns of kubectl get, in addition to the name; default: the age
	SelectableFields []string // paths that field selectors can use, such as .spec.title
	Scale            *Scale   // paths of the scale subresource; default: no scale subresource
}

// Column is a column that kubectl get prints.
type Column struct {
	Name        string
	JSONPath    string // such as .spec.title
	Type        string // string, integer, number, boolean or date; default: the type of the field
	Format      string // such as int32; default: none
	Description string
	Priority    int // columns above 0 are shown by kubectl get -o wide; default: 0
}

// Scale contains the field paths of the scale subresource.
type Scale struct {
	SpecReplicasPath   string // such as .spec.replicas
	StatusReplicasPath string // such as .status.replicas
	LabelSelectorPath  string // such as .status.selector; default: autoscalers can't find the pods
}

// Reflect generates the CustomResourceDefinition of K from its Go type, its struct tags and its methods, as described
// in the package documentation. The definition has one version. The caller owns the result. For a generated kind, use
// [core.CRD], which returns the generated definition.
//
// Errors: [*ReflectError], [*core.UnknownKindError].
func Reflect[K any, P core.ObjectPtr[K]](o *Options) (*unstructured.Unstructured, error) {
	var opts Options
	if o != nil {
		opts = *o
	}
	if reflect.ValueOf(opts.Resource).IsZero() {
		r, err := core.ResourceOf[K, P]()
		if err != nil {
			return nil, err
		}
		opts.Resource = r
	}
	return opts.reflect(reflect.TypeFor[K]())
}

// ReflectError contains all problems of a type.
type ReflectError struct {
	Type     string // the Go type
	Problems []error
}

// Error returns the problems, one per line.
func (e *ReflectError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = e.Type + ": " + p.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the problems.
func (e *ReflectError) Unwrap() []error { return e.Problems }

// reflect implements Reflect without type parameters, to reduce the size of binaries.
func (o *Options) reflect(t reflect.Type) (*unstructured.Unstructured, error) {
	e := &ReflectError{Type: t.String()}
	k := o.kind(e)
	doc, errs := reflected.Describe(t)
	if e.Problems = append(e.Problems, errs...); len(e.Problems) > 0 {
		return nil, e
	}
	schema, err := structural.Rewrite(doc)
	if err == nil {
		err = schema.CheckKeys()
	}
	if err != nil {
		e.Problems = append(e.Problems, err)
		return nil, e
	}
	if k.Scale == nil && slices.Contains(o.Resource.Subresources, "scale") {
		e.add("the resource has the subresource scale: set its paths with Options.Scale")
	}
	definition := crd.Assemble([]crd.Version{{Kind: k, Schema: schema}},
		func(_ token.Position, msg string) { e.add(msg) })
	if len(e.Problems) > 0 {
		return nil, e
	}
	return definition.Object()
}

func (e *ReflectError) add(msg string) { e.Problems = append(e.Problems, errors.New(msg)) }

// kind returns the properties of the kind, except for its schema.
func (o *Options) kind(e *ReflectError) *kind.Kind {
	r := o.Resource
	if err := r.Validate(); err != nil {
		e.Problems = append(e.Problems, err)
	}
	if !strings.Contains(r.Group, ".") {
		e.add(fmt.Sprintf("group %q is invalid: use a domain name with a dot, such as docs.example.com", r.Group))
	}
	k := &kind.Kind{
		Group:      r.Group,
		Version:    r.Version,
		Name:       r.Kind,
		Plural:     r.Plural,
		Singular:   r.Singular,
		ShortNames: r.ShortNames,
		Categories: r.Categories,
		Cluster:    !r.Namespaced,
		Served:     true,
		HasStatus:  slices.Contains(r.Subresources, "status"),
	}
	if k.Singular == "" {
		k.Singular = strings.ToLower(k.Name)
	}
	if s := o.Scale; s != nil {
		k.Scale = &kind.Scale{SpecReplicas: s.SpecReplicasPath, StatusReplicas: s.StatusReplicasPath, LabelSelector: s.LabelSelectorPath}
	}
	for _, path := range o.SelectableFields {
		k.Selectable = append(k.Selectable, kind.Path{Path: path})
	}
	for _, c := range o.Columns {
		k.Columns = append(k.Columns, kind.Column{
			Path:        kind.Path{Path: c.JSONPath},
			Name:        c.Name,
			Type:        c.Type,
			Description: c.Description,
			Format:      c.Format,
			Priority:    strconv.Itoa(c.Priority),
		})
	}
	return k
}
