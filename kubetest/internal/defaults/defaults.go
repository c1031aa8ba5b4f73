// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package defaults sets the defaults of objects of built-in kinds, as an API server does when it decodes them.
//
// The rules are those of Kubernetes 1.37 with its default feature gates. The sources of [Set] are the files
// defaults.go, zz_generated.defaults.go and conversion.go of each version in
// https://github.com/kubernetes/kubernetes/tree/v1.37.2/pkg/apis. The sources of [Prepare] and [PrepareUpdate] are the
// methods PrepareForCreate and PrepareForUpdate in https://github.com/kubernetes/kubernetes/tree/v1.37.2/pkg/registry.
// Values that a server allocates, such as cluster IPs, and the effects of admission plugins are not included.
package defaults

import (
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Set sets the defaults of an object in place. It also replaces the fields that exist only for input, such as the
// stringData of a Secret, and makes aliases of a field equal. Objects of unknown kinds are unchanged. A second Set has
// no effect.
func Set(gvk schema.GroupVersionKind, obj map[string]any) {
	apply(decoded()[gvk.GroupVersion()][gvk.Kind], obj)
}

// Prepare sets in place what the server sets in a new object. Before, the caller must apply [Set], and remove the
// status of kinds whose clients can't create it; Prepare keeps a status that exists. A Job must have its UID, and must
// not be copied between Set and Prepare: if Set makes the labels of the template the labels of the Job, they share the
// labels that Prepare adds.
func Prepare(gvk schema.GroupVersionKind, obj map[string]any) {
	apply(written()[gvk.GroupVersion()][gvk.Kind], obj)
	apply(created()[gvk.GroupVersion()][gvk.Kind], obj)
}

// PrepareUpdate sets in place what the server sets or removes in an object that replaces live, by a write of the object
// or of a subresource. Before, the caller must apply [Set], and set what the write does not change to that of live.
func PrepareUpdate(gvk schema.GroupVersionKind, subresource string, obj, live map[string]any) {
	apply(written()[gvk.GroupVersion()][gvk.Kind], obj)
	if keep := kept()[subresource][gvk.GroupVersion()][gvk.Kind]; keep != nil {
		keep(obj, live)
	}
}

func apply(r rule, obj map[string]any) {
	if r != nil && obj != nil {
		r(obj)
	}
}

// kinds are the rules of the kinds of a version of a group.
type kinds map[string]rule

// decoded has the rules of Set.
//
//nolint:gochecknoglobals // a cache
var decoded = sync.OnceValue(func() map[schema.GroupVersion]kinds {
	return map[schema.GroupVersion]kinds{
		{Version: "v1"}: coreKinds(),
		{Group: "admissionregistration.k8s.io", Version: "v1"}: admissionKinds(),
		{Group: "apps", Version: "v1"}:                         appsKinds(),
		{Group: "autoscaling", Version: "v2"}:                  autoscalingKinds(),
		{Group: "batch", Version: "v1"}:                        batchKinds(),
		{Group: "certificates.k8s.io", Version: "v1"}:          certificateKinds(),
		{Group: "discovery.k8s.io", Version: "v1"}:             discoveryKinds(),
		{Group: "flowcontrol.apiserver.k8s.io", Version: "v1"}: flowControlKinds(),
		{Group: "networking.k8s.io", Version: "v1"}:            networkingKinds(),
		{Group: "rbac.authorization.k8s.io", Version: "v1"}:    rbacKinds(),
		{Group: "resource.k8s.io", Version: "v1"}:              resourceKinds(),
		{Group: "scheduling.k8s.io", Version: "v1"}:            schedulingKinds(),
		{Group: "storage.k8s.io", Version: "v1"}:               storageKinds(),
	}
})
