// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package fields

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Replicas has the path of the replicas in the objects of a kind with a subresource scale, by API version, such as
// {"apps/v1": {"spec", "replicas"}}. The path of a version without the subresource is nil. The manager of the kind
// autoscaling/v1 Scale keeps the managed fields of the subresource; that of a custom resource has a Custom, too.
type Replicas map[string][]string

// ToScale gives scale the managed fields of the subresource scale of obj: those of its replicas.
func (r Replicas) ToScale(obj, scale *unstructured.Unstructured) error {
	entries, err := r.handler(obj).ToSubresource()
	if err != nil {
		return statusError(err)
	}
	scale.SetManagedFields(entries)
	return nil
}

// FromScale gives obj the managed fields that result from those of its changed subresource scale.
func (r Replicas) FromScale(scale, obj *unstructured.Unstructured) error {
	entries, err := r.handler(obj).ToParent(scale.GetManagedFields())
	if err != nil {
		return statusError(err)
	}
	obj.SetManagedFields(entries)
	return nil
}

// applyScale applies a configuration to the subresource scale of a custom resource. Servers refuse such configurations
// if they would change anything, because they can't convert the result.
func (m *Manager) applyScale(
	live, config *unstructured.Unstructured, manager string, force bool,
) (*unstructured.Unstructured, error) {
	const reason = "request to convert CR to an invalid group/version: autoscaling/v1"
	if len(live.GetManagedFields()) == 0 {
		return nil, statusError(fmt.Errorf("failed to create manager for existing fields: "+
			"failed to convert live object (/; %s) to proper version: %s", m.kind, reason))
	}
	applied, err := m.apply(live, config, "scale", manager, force)
	if err != nil || equality.Semantic.DeepEqual(live.Object["spec"], applied.Object["spec"]) {
		return applied, err
	}
	return nil, statusError(fmt.Errorf("failed to convert new object (%s/%s; %s) to proper version: %s",
		config.GetNamespace(), config.GetName(), m.kind, reason))
}

func (r Replicas) handler(obj *unstructured.Unstructured) *managedfields.ScaleHandler {
	paths := managedfields.ResourcePathMappings{}
	for version, fields := range r {
		var replicas fieldpath.Path
		for _, name := range fields {
			replicas = append(replicas, fieldpath.PathElement{FieldName: &name})
		}
		paths[version] = replicas
	}
	return managedfields.NewScaleHandler(obj.GetManagedFields(), obj.GroupVersionKind().GroupVersion(), paths)
}
