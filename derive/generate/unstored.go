// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"fmt"
	"maps"
	"slices"

	"github.com/kube-go/sdk/derive/internal/crd"
	"github.com/kube-go/sdk/derive/internal/structural"
)

// unstored warns about fields of served versions that the storage version does not have. Without a conversion webhook,
// servers drop their values on write. It warns only about kinds marked //kube:resource: projects with kubebuilder add
// the conversion webhook to the YAML. Nor does it warn about versions of other modules, which users can't change.
func (r *run) unstored(versions []crd.Version) {
	stored := slices.IndexFunc(versions, func(v crd.Version) bool { return v.Storage != nil && *v.Storage })
	converted := slices.ContainsFunc(versions, func(v crd.Version) bool {
		return v.Conversion != nil && v.Conversion.Webhook
	})
	if stored < 0 || converted {
		return
	}
	for _, v := range versions {
		if !v.Served || v.Root != nil || v.Warn != nil {
			continue
		}
		for _, path := range droppedFields(v.Schema, versions[stored].Schema, "") {
			pos, label, _ := r.declaredAt(v.Kind, path)
			r.warnings.add(pos, fmt.Sprintf("%s: servers drop this field of version %s on write, because the storage version "+
				"%s does not have it and no webhook converts: add //kube:conversion strategy=Webhook, or add the field to "+
				"version %[3]s", label, v.Version, versions[stored].Version))
		}
	}
}

// droppedFields returns the paths of fields that one schema has and the other drops, as steps. It returns only the root
// of a subtree.
func droppedFields(s, other *structural.Schema, path string) (list []string) {
	if s == nil || other == nil || other.PreserveUnknownFields {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		field := path + "properties[" + name + "]"
		switch kept := other.Properties[name]; {
		case kept != nil:
			list = append(list, droppedFields(s.Properties[name], kept, field+".")...)
		case other.AdditionalProperties != nil:
			list = append(list, droppedFields(s.Properties[name], other.AdditionalProperties, field+".")...)
		case !other.EmbeddedResource || name != "apiVersion" && name != "kind" && name != "metadata":
			list = append(list, field)
		}
	}
	list = append(list, droppedFields(s.Items, other.Items, path+"items.")...)
	return append(list, droppedFields(s.AdditionalProperties, other.AdditionalProperties, path+"additionalProperties.")...)
}
