// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package fields keeps the managed fields of objects, and applies patches, as an API server does.
package fields

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/kube-go/sdk/kubetest/internal/typed"
)

// Manager keeps the managed fields of the objects of one version of a kind. It is safe for concurrent use, and changes
// no object that it gets.
type Manager struct {
	kind     schema.GroupVersionKind
	versions []string // the API versions of the kind that have a schema
	custom   *Custom
	types    managedfields.TypeConverter
	model    *spec.Schema            // of the kind
	schemas  map[string]*spec.Schema // what the kind's versions refer to, by name
}

// Custom describes the definition of a custom resource.
type Custom struct {
	Status bool // whether its objects have a subresource status
}

// New returns the manager of a kind. The schemas are the definitions of an OpenAPI document by name, and may have other
// kinds. The next write removes managed fields of a version of the kind that has no schema, so custom resources need
// the schemas of all versions. Custom is nil for built-in kinds.
func New(schemas map[string]*spec.Schema, kind schema.GroupVersionKind, custom *Custom) (*Manager, error) {
	models := modelsOf(schemas, kind.GroupKind())
	name, ok := models[kind.Version]
	if !ok {
		return nil, fmt.Errorf("no schema of %s", kind)
	}
	m := &Manager{kind: kind, custom: custom, model: schemas[name], schemas: map[string]*spec.Schema{}}
	for version, name := range models {
		m.versions = append(m.versions, schema.GroupVersion{Group: kind.Group, Version: version}.String())
		collect(schemas, name, m.schemas)
	}
	types, err := managedfields.NewTypeConverter(m.schemas, false)
	if err != nil {
		return nil, fmt.Errorf("read the schema of %s: %w", kind, err)
	}
	m.types = types
	return m, nil
}

// Update returns obj with the managed fields that result from replacing live by obj. Both are in the manager's version;
// live is nil if obj is new. Obj may still have changes that the subresource does not permit: they get no owner.
func (m *Manager) Update(live, obj *unstructured.Unstructured, subresource, manager string) *unstructured.Unstructured {
	before, after := m.before(live), m.normalize(obj)
	updater, err := m.updater(subresource)
	if err == nil {
		result, failed := updater.Update(before, after.DeepCopy(), manager)
		if failed == nil {
			return result.(*unstructured.Unstructured)
		}
	}
	// As in the server, an object that its schema does not permit keeps the managed fields of live.
	after.SetManagedFields(before.GetManagedFields())
	return after
}

// Apply returns live with the fields of a configuration that a manager applies. Live is nil if the object does not
// exist. The error is a *core.StatusError: a conflict with the fields of other managers unless force is set, or an
// invalid configuration.
func (m *Manager) Apply(
	live, config *unstructured.Unstructured, subresource, manager string, force bool,
) (*unstructured.Unstructured, error) {
	if m.custom != nil && subresource == "scale" {
		return m.applyScale(live, config, manager, force)
	}
	return m.apply(live, config, subresource, manager, force)
}

func (m *Manager) apply(
	live, config *unstructured.Unstructured, subresource, manager string, force bool,
) (*unstructured.Unstructured, error) {
	updater, err := m.updater(subresource)
	if err != nil {
		return nil, statusError(err)
	}
	result, err := updater.Apply(m.before(live), config.DeepCopy(), manager, force)
	if err != nil {
		return nil, statusError(err)
	}
	return m.normalize(result.(*unstructured.Unstructured)), nil
}

// before returns a copy of live, or the object that a new object replaces.
func (m *Manager) before(live *unstructured.Unstructured) *unstructured.Unstructured {
	if live != nil {
		return m.normalize(live)
	}
	if m.custom == nil {
		if obj, err := typed.New(m.kind); err == nil {
			return obj
		}
	}
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	obj.SetGroupVersionKind(m.kind)
	return obj
}

func (m *Manager) updater(subresource string) (*managedfields.FieldManager, error) {
	build := managedfields.NewDefaultFieldManager
	if m.custom != nil {
		build = managedfields.NewDefaultCRDFieldManager
	}
	scheme := scheme{manager: m}
	return build(m.types, scheme, scheme, scheme, m.kind, m.kind.GroupVersion(), subresource, m.reset(subresource))
}

// reset returns the fields that a request for a subresource can't change, by API version.
func (m *Manager) reset(subresource string) map[fieldpath.APIVersion]fieldpath.Filter {
	filter := resetFields(m.kind.GroupKind(), subresource, m.custom)
	if filter == nil {
		return nil
	}
	versions := m.versions
	if m.custom != nil && subresource == "" {
		// The server has the fields of the other versions only for the status. So managers of another version lose the
		// status if an update has none.
		versions = []string{m.kind.GroupVersion().String()}
	}
	filters := map[fieldpath.APIVersion]fieldpath.Filter{}
	for _, version := range versions {
		filters[fieldpath.APIVersion(version)] = filter
	}
	return filters
}
