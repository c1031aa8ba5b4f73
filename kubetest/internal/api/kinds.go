// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"sync"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/kubetest/internal/builtin"
	"github.com/kube-go/sdk/kubetest/internal/definition"
	"github.com/kube-go/sdk/kubetest/internal/fields"
	"github.com/kube-go/sdk/kubetest/internal/typed"
)

// kind is a served version of a kind.
type kind struct {
	core.Resource
	custom   *definition.Version            // nil for a built-in kind
	versions []*definition.Version          // all served versions of a custom kind
	storage  *definition.Version            // the version that a custom kind is stored in
	schemas  func() map[string]*spec.Schema // its OpenAPI definitions
	fields   func() (*fields.Manager, error)
}

// resource returns the resource without its version.
func (k *kind) resource() schema.GroupResource { return k.GroupVersionResource().GroupResource() }

// stored returns the resource that all versions of the kind are stored as.
func (k *kind) stored() schema.GroupResource {
	if k.Group == eventsGroup {
		return events()
	}
	return k.resource()
}

// has returns whether the kind has a subresource.
func (k *kind) has(subresource string) bool { return slices.Contains(k.Subresources, subresource) }

// replicas returns the paths of the replicas in the versions of the kind.
func (k *kind) replicas() fields.Replicas {
	if k.custom == nil {
		return fields.Replicas{k.APIVersion(): {"spec", "replicas"}}
	}
	paths := make(fields.Replicas)
	for _, v := range k.versions {
		paths[v.Resource.APIVersion()] = nil
		if v.Scale != nil {
			paths[v.Resource.APIVersion()] = fieldsOf(v.Scale.SpecReplicasPath)
		}
	}
	return paths
}

// isDefinition returns whether the kind is that of CustomResourceDefinitions.
func (k *kind) isDefinition() bool { return k.stored() == definitions() }

func definitions() schema.GroupResource {
	return core.CRDResource().GroupVersionResource().GroupResource()
}

func namespaces() schema.GroupResource { return schema.GroupResource{Resource: "namespaces"} }

func events() schema.GroupResource { return schema.GroupResource{Resource: "events"} }

func jobs() schema.GroupResource { return schema.GroupResource{Group: "batch", Resource: "jobs"} }

func pods() schema.GroupResource { return schema.GroupResource{Resource: "pods"} }

// convert returns an object in the version of the kind.
func (k *kind) convert(obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	switch {
	case k.custom != nil:
		return k.custom.Convert(obj)
	case obj.GetAPIVersion() == k.APIVersion():
		return obj, nil
	case k.Kind == "Event":
		return convertEvent(obj, k.GroupVersionKind()), nil
	default:
		return nil, fmt.Errorf("%s has no conversion from %s", k.GroupVersionKind(), obj.GetAPIVersion())
	}
}

// toStore returns an object as it is stored.
func (k *kind) toStore(obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if k.custom == nil {
		k.dropEmptyLists(obj)
		return obj, nil
	}
	return k.storage.Convert(obj)
}

// dropEmptyLists replaces empty lists by null, since objects of built-in kinds are stored in protobuf. Only required
// fields have them. Fields without a type, which some kinds have, are stored as JSON.
func (k *kind) dropEmptyLists(obj *unstructured.Unstructured) {
	if k.typed() && k.Kind != "ControllerRevision" && k.Group != "resource.k8s.io" {
		dropEmptyLists(obj.Object)
	}
}

func dropEmptyLists(value any) {
	switch value := value.(type) {
	case map[string]any:
		for name, field := range value {
			if list, ok := field.([]any); ok && list != nil && len(list) == 0 {
				value[name] = nil
			}
			dropEmptyLists(field)
		}
	case []any:
		for _, element := range value {
			dropEmptyLists(element)
		}
	}
}

// kinds are the served kinds. It is safe for concurrent use.
type kinds struct {
	builtin  map[schema.GroupVersionResource]*kind
	webhooks http.Handler // converts objects; nil if the server has no webhooks

	mu      sync.Mutex // guards the fields below
	defined []defined
	custom  map[schema.GroupVersionResource]*kind // those of defined
}

// defined is a definition with the kinds that are served for it.
type defined struct {
	crd   *unstructured.Unstructured
	kinds []*kind
}

func newKinds(webhooks http.Handler) *kinds {
	return &kinds{builtin: builtinKinds(), webhooks: webhooks, custom: make(map[schema.GroupVersionResource]*kind)}
}

// builtinKinds returns the built-in kinds, which all servers share.
//
//nolint:gochecknoglobals // a cache
var builtinKinds = sync.OnceValue(func() map[schema.GroupVersionResource]*kind {
	all := make(map[schema.GroupVersionResource]*kind)
	for _, group := range builtin.Groups() {
		for _, version := range group.Versions {
			for _, r := range version.Resources {
				if k := newBuiltin(group.Name, version.Version, r); k.supported() {
					all[k.GroupVersionResource()] = k
				}
			}
		}
	}
	return all
})

// supported returns whether the server has a built-in kind. It has no aggregated API servers, and only one version of
// HorizontalPodAutoscalers.
func (k *kind) supported() bool {
	return k.Group != "apiregistration.k8s.io" && (k.Kind != "HorizontalPodAutoscaler" || k.Version == "v2")
}

func newBuiltin(group, version string, r apidiscoveryv2.APIResourceDiscovery) *kind {
	k := &kind{Resource: core.Resource{
		Group: group, Version: version, Kind: r.ResponseKind.Kind, Plural: r.Resource, Singular: r.SingularResource,
		Namespaced: r.Scope == apidiscoveryv2.ScopeNamespace, ShortNames: r.ShortNames, Categories: r.Categories,
		Verbs: r.Verbs,
	}}
	for _, sub := range r.Subresources {
		k.Subresources = append(k.Subresources, sub.Subresource)
	}
	k.schemas = builtin.Schemas
	k.fields = sync.OnceValues(func() (*fields.Manager, error) {
		return fields.New(k.schemas(), k.GroupVersionKind(), nil)
	})
	return k
}

func newCustom(d *definition.Definition, v *definition.Version) *kind {
	k := &kind{Resource: v.Resource, custom: v, versions: d.Versions(), storage: d.Storage()}
	k.schemas = func() map[string]*spec.Schema { return d.Schemas(builtin.Schemas()) }
	k.fields = sync.OnceValues(func() (*fields.Manager, error) {
		return fields.New(k.schemas(), k.GroupVersionKind(), &fields.Custom{Status: v.Status})
	})
	return k
}

// find returns a served kind, or nil.
func (ks *kinds) find(gvr schema.GroupVersionResource) *kind {
	if k := ks.builtin[gvr]; k != nil {
		return k
	}
	ks.mu.Lock()
	defer ks.mu.Unlock()
	return ks.custom[gvr]
}

// set makes the kinds of all definitions the served ones. The kinds of a definition are replaced if it changes what is
// served, and kept otherwise.
func (ks *kinds) set(crds []*unstructured.Unstructured) error {
	ks.mu.Lock()
	defer ks.mu.Unlock()
	all, custom := make([]defined, len(crds)), make(map[schema.GroupVersionResource]*kind)
	for i, crd := range crds {
		next, err := ks.define(crd)
		if err != nil {
			return fmt.Errorf("%s: %w", crd.GetName(), err)
		}
		all[i] = next
		for _, k := range next.kinds {
			custom[k.GroupVersionResource()] = k
		}
	}
	ks.defined, ks.custom = all, custom
	return nil
}

// define returns the kinds of a definition. The caller holds ks.mu.
func (ks *kinds) define(crd *unstructured.Unstructured) (defined, error) {
	for _, before := range ks.defined {
		if definition.Same(before.crd, crd) {
			return before, nil
		}
	}
	d, err := definition.New(crd, ks.webhooks)
	if err != nil {
		return defined{}, err
	}
	next := defined{crd: crd}
	for _, v := range d.Versions() {
		next.kinds = append(next.kinds, newCustom(d, v))
	}
	return next, nil
}

// typed returns whether the kind has a Go type.
func (k *kind) typed() bool { return k.custom == nil && typed.Known(k.GroupVersionKind()) }

// serves returns whether a group is built in, or has custom kinds in a version.
func (ks *kinds) serves(group, version string) bool {
	return ks.where(func(k *kind) bool {
		return k.Group == group && (k.custom == nil || k.Version == version)
	}) != nil
}

// where returns a served kind that is accepted by f, or nil.
func (ks *kinds) where(f func(*kind) bool) *kind {
	for _, k := range ks.builtin {
		if f(k) {
			return k
		}
	}
	ks.mu.Lock()
	defer ks.mu.Unlock()
	for _, k := range ks.custom {
		if f(k) {
			return k
		}
	}
	return nil
}

// otherVersions returns the other served versions of a kind, sorted.
func (ks *kinds) otherVersions(of *kind) []*kind {
	var others []*kind
	ks.where(func(k *kind) bool {
		if k != of && k.stored() == of.stored() && k.resource() == of.resource() {
			others = append(others, k)
		}
		return false
	})
	slices.SortFunc(others, func(a, b *kind) int { return cmp.Compare(a.Version, b.Version) })
	return others
}

// storedAs returns a kind whose objects are stored as a resource, or nil.
func (ks *kinds) storedAs(gr schema.GroupResource) *kind {
	return ks.where(func(k *kind) bool { return k.stored() == gr })
}

// of returns the served kind with a name, or nil.
func (ks *kinds) of(gvk schema.GroupVersionKind) *kind {
	return ks.where(func(k *kind) bool { return k.GroupVersionKind() == gvk })
}

// namespaceSubresource returns whether a path below a namespace is a subresource of it, and not its objects.
func (ks *kinds) namespaceSubresource(name string) bool {
	return name == "status" || name == "finalize"
}
