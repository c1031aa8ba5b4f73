// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strings"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiversion "k8s.io/apimachinery/pkg/version"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/kubetest/internal/builtin"
)

// version returns the version whose behavior the server has.
func version() apiversion.Info {
	v := builtin.Version()
	parts := strings.Split(strings.TrimPrefix(v, "v"), ".")
	return apiversion.Info{Major: parts[0], Minor: parts[1], GitVersion: v}
}

// discover serves the aggregated discovery document of /api, the core group, or of /apis, all other groups, see
// https://kubernetes.io/docs/concepts/overview/kubernetes-api/#aggregated-discovery.
func (s *Server) discover(w http.ResponseWriter, r *http.Request, path string) error {
	if !strings.Contains(r.Header.Get("Accept"), "as=APIGroupDiscoveryList") {
		return notAcceptable("only the following media types are accepted")
	}
	list := apidiscoveryv2.APIGroupDiscoveryList{TypeMeta: metav1.TypeMeta{
		APIVersion: apidiscoveryv2.SchemeGroupVersion.String(), Kind: "APIGroupDiscoveryList",
	}}
	for _, group := range s.kinds.discovery() {
		if (group.Name == "") == (path == "api") {
			list.Items = append(list.Items, group)
		}
	}
	w.Header().Set("Vary", "Accept")
	respondAs(w, http.StatusOK, list, "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
	return nil
}

// discovery returns the served groups: the built-in ones in the order of a real server, and then the custom ones by
// name.
func (ks *kinds) discovery() []apidiscoveryv2.APIGroupDiscovery {
	custom := make(map[string]map[string][]apidiscoveryv2.APIResourceDiscovery) // by group and version
	ks.mu.Lock()
	defer ks.mu.Unlock()
	for _, k := range ks.custom {
		if custom[k.Group] == nil {
			custom[k.Group] = make(map[string][]apidiscoveryv2.APIResourceDiscovery)
		}
		custom[k.Group][k.Version] = append(custom[k.Group][k.Version], k.discovery())
	}
	groups := ks.builtinGroups()
	for _, name := range slices.Sorted(maps.Keys(custom)) {
		group := apidiscoveryv2.APIGroupDiscovery{ObjectMeta: metav1.ObjectMeta{Name: name}}
		for _, version := range slices.SortedFunc(maps.Keys(custom[name]), newestFirst) {
			resources := custom[name][version]
			slices.SortFunc(resources, func(a, b apidiscoveryv2.APIResourceDiscovery) int {
				return cmp.Compare(a.Resource, b.Resource)
			})
			group.Versions = append(group.Versions, apidiscoveryv2.APIVersionDiscovery{
				Version: version, Freshness: apidiscoveryv2.DiscoveryFreshnessCurrent, Resources: resources,
			})
		}
		groups = append(groups, group)
	}
	return groups
}

// builtinGroups returns the built-in groups with the kinds that the server has.
func (ks *kinds) builtinGroups() []apidiscoveryv2.APIGroupDiscovery {
	groups := builtin.Groups()
	for i, group := range groups {
		for j, version := range group.Versions {
			unsupported := func(r apidiscoveryv2.APIResourceDiscovery) bool {
				gvr := schema.GroupVersionResource{Group: group.Name, Version: version.Version, Resource: r.Resource}
				return ks.builtin[gvr] == nil
			}
			groups[i].Versions[j].Resources = slices.DeleteFunc(version.Resources, unsupported)
		}
		groups[i].Versions = slices.DeleteFunc(group.Versions, func(v apidiscoveryv2.APIVersionDiscovery) bool {
			return len(v.Resources) == 0
		})
	}
	return slices.DeleteFunc(groups, func(g apidiscoveryv2.APIGroupDiscovery) bool { return len(g.Versions) == 0 })
}

// newestFirst compares versions in the order of their preference.
func newestFirst(a, b string) int { return core.CompareVersions(b, a) }

// discovery returns the description of a custom kind.
func (k *kind) discovery() apidiscoveryv2.APIResourceDiscovery {
	kindOf := &metav1.GroupVersionKind{Group: k.Group, Version: k.Version, Kind: k.Kind}
	r := apidiscoveryv2.APIResourceDiscovery{
		Resource: k.Plural, ResponseKind: kindOf, Scope: apidiscoveryv2.ScopeCluster, SingularResource: k.Singular,
		Verbs: k.Verbs, ShortNames: k.ShortNames, Categories: k.Categories,
	}
	if k.Namespaced {
		r.Scope = apidiscoveryv2.ScopeNamespace
	}
	for _, name := range k.Subresources {
		sub := apidiscoveryv2.APISubresourceDiscovery{
			Subresource: name, ResponseKind: kindOf, Verbs: []string{"get", "patch", "update"},
		}
		if name == "scale" {
			sub.ResponseKind = &metav1.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"}
		}
		r.Subresources = append(r.Subresources, sub)
	}
	return r
}
