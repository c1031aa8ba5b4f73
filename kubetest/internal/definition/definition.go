// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package definition

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
	validator "github.com/kube-go/sdk/derive/validation"
	"github.com/kube-go/sdk/kubetest/internal/webhook"
)

// Definition has the versions of a kind.
type Definition struct {
	name     string
	served   bool
	webhook  bool
	convert  *webhook.Converter // nil without a handler of webhooks
	versions []*Version
}

// Version is a version of a kind.
type Version struct {
	// Resource has the accepted names, and the verbs and subresources of the version.
	Resource core.Resource
	// ListKind is the kind of lists.
	ListKind string
	// Status is true if the version has a status subresource.
	Status bool
	// Scale has the paths of the scale subresource. It is nil if the version has none.
	Scale *Scale
	// SelectableFields has the paths of the fields that field selectors can use, such as ".spec.color". The name in a
	// selector has no leading dot.
	SelectableFields []string
	// Deprecation is the warning for each request, or empty if the version is not deprecated.
	Deprecation string

	def       *Definition
	served    bool
	storage   bool
	schema    *spec.Schema
	validator func() (*validator.Validator, error)
}

// Scale has the paths of the scale subresource, such as ".spec.replicas".
type Scale struct {
	SpecReplicasPath   string `json:"specReplicasPath"`
	StatusReplicasPath string `json:"statusReplicasPath"`
	LabelSelectorPath  string `json:"labelSelectorPath"` // empty if the definition has none
}

// New returns the definition that a result of [Admit] describes. The handler serves its conversion webhook; it may be
// nil.
func New(crd *unstructured.Unstructured, webhooks http.Handler) (*Definition, error) {
	crd = crd.DeepCopy()
	m, err := read(crd)
	if err != nil {
		return nil, fmt.Errorf("definition %s: %w", crd.GetName(), err)
	}
	d := &Definition{
		name: crd.GetName(), served: m.Status.isTrue(established), webhook: m.Spec.Conversion.Strategy == "Webhook",
	}
	if d.webhook && webhooks != nil {
		field, _, _ := unstructured.NestedMap(crd.Object, "spec", "conversion", "webhook")
		if d.convert, err = webhook.NewConverter(webhooks, field); err != nil {
			return nil, fmt.Errorf("definition %s: %w", d.name, err)
		}
	}
	for i := range m.Spec.Versions {
		v, err := d.version(crd, m, &m.Spec.Versions[i])
		if err != nil {
			return nil, fmt.Errorf("definition %s: version %s: %w", d.name, m.Spec.Versions[i].Name, err)
		}
		d.versions = append(d.versions, v)
	}
	return d, nil
}

// Same returns whether two results of [Admit] are states of one definition that serve the same kinds.
func Same(a, b *unstructured.Unstructured) bool {
	if a.GetUID() != b.GetUID() || !equality.Semantic.DeepEqual(a.Object["spec"], b.Object["spec"]) {
		return false
	}
	before, failedBefore := read(a)
	after, failedAfter := read(b)
	return failedBefore == nil && failedAfter == nil &&
		before.Status.isTrue(established) == after.Status.isTrue(established) &&
		equality.Semantic.DeepEqual(before.Status.AcceptedNames, after.Status.AcceptedNames)
}

// Versions returns the served versions, in the order of the definition. It returns nil if the definition is not
// established, because its names are not accepted.
func (d *Definition) Versions() []*Version {
	if !d.served {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(d.versions), func(v *Version) bool { return !v.served })
}

// Storage returns the version that is stored, which may not be served.
func (d *Definition) Storage() *Version {
	return d.find(func(v *Version) bool { return v.storage })
}

func (d *Definition) find(match func(*Version) bool) *Version {
	i := slices.IndexFunc(d.versions, match)
	if i < 0 {
		return nil
	}
	return d.versions[i]
}

func (d *Definition) version(crd *unstructured.Unstructured, m *manifest, mv *manifestVersion) (*Version, error) {
	accepted := m.Status.AcceptedNames
	v := &Version{
		Resource: core.Resource{
			Group: m.Spec.Group, Version: mv.Name, Kind: accepted.Kind, Plural: accepted.Plural,
			Namespaced: m.Spec.Scope == "Namespaced",
			Singular:   accepted.Singular, ShortNames: accepted.ShortNames, Categories: accepted.Categories,
			Verbs: []string{"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"},
		},
		ListKind: accepted.ListKind,
		Status:   mv.Subresources.Status != nil,
		Scale:    mv.Subresources.Scale,

		def: d, served: mv.Served, storage: mv.Storage,
		// Compiling the rules of a schema takes time, so it waits until the first object.
		validator: sync.OnceValues(func() (*validator.Validator, error) {
			return validator.New(crd, mv.Name, &validator.Options{FieldValidation: "Ignore"})
		}),
	}
	if v.Status {
		v.Resource.Subresources = append(v.Resource.Subresources, "status")
	}
	if v.Scale != nil {
		v.Resource.Subresources = append(v.Resource.Subresources, "scale")
	}
	for _, f := range mv.SelectableFields {
		v.SelectableFields = append(v.SelectableFields, f.JSONPath)
	}
	if mv.Deprecated {
		v.Deprecation = deprecation(m, mv)
	}
	var err error
	if v.schema, err = readSchema(mv.Schema.OpenAPIV3Schema); err != nil {
		return nil, err
	}
	v.addResource()
	return v, nil
}

func readSchema(content map[string]any) (*spec.Schema, error) {
	body, err := wire.MarshalJSON(content)
	if err != nil {
		return nil, err
	}
	s := &spec.Schema{}
	return s, s.UnmarshalJSON(body)
}

// deprecation returns the warning for requests to a deprecated version. The default recommends the newest version.
func deprecation(m *manifest, mv *manifestVersion) string {
	if mv.DeprecationWarning != nil {
		return *mv.DeprecationWarning
	}
	text := fmt.Sprintf("%s/%s %s is deprecated", m.Spec.Group, mv.Name, m.Spec.Names.Kind)
	var newer []string
	for _, v := range m.Spec.Versions {
		if v.Served && !v.Deprecated && core.CompareVersions(mv.Name, v.Name) < 0 {
			newer = append(newer, v.Name)
		}
	}
	if len(newer) == 0 {
		return text
	}
	best := slices.MaxFunc(newer, core.CompareVersions)
	return fmt.Sprintf("%s; use %s/%s %s", text, m.Spec.Group, best, m.Spec.Names.Kind)
}

// Fields returns the values of an object that field selectors can use, by name.
func (v *Version) Fields(obj *unstructured.Unstructured) map[string]string {
	fields := map[string]string{"metadata.name": obj.GetName()}
	if v.Resource.Namespaced {
		fields["metadata.namespace"] = obj.GetNamespace()
	}
	for _, path := range v.SelectableFields {
		name := strings.TrimPrefix(path, ".")
		fields[name] = ""
		if value, _, _ := unstructured.NestedFieldNoCopy(obj.Object, strings.Split(name, ".")...); value != nil {
			fields[name] = fmt.Sprint(value)
		}
	}
	return fields
}
