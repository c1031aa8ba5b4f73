// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
)

// aggregated requests all groups of a root in one document, in the stable version of the format or otherwise in the
// beta version. A server that supports neither responds with plain JSON.
const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList," +
	"application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList," +
	wire.MediaTypeJSON

// document is a discovery document, reduced to the fields that are used here. It has one of four kinds, each with its
// own fields.
type document struct {
	Kind string `json:"kind"`

	Items     []aggregatedGroup `json:"items"`     // APIGroupDiscoveryList: /api and /apis, since Kubernetes 1.27
	Versions  []string          `json:"versions"`  // APIVersions: /api before that
	Groups    []legacyGroup     `json:"groups"`    // APIGroupList: /apis before that
	Resources []legacyResource  `json:"resources"` // APIResourceList: a group version
}

type aggregatedGroup struct {
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Versions []struct {
		Version   string               `json:"version"`
		Freshness string               `json:"freshness"`
		Resources []aggregatedResource `json:"resources"`
	} `json:"versions"`
}

type aggregatedResource struct {
	Resource     string   `json:"resource"`
	ResponseKind kind     `json:"responseKind"`
	Scope        string   `json:"scope"`
	Singular     string   `json:"singularResource"`
	Verbs        []string `json:"verbs"`
	ShortNames   []string `json:"shortNames"`
	Categories   []string `json:"categories"`
	Subresources []struct {
		Subresource  string   `json:"subresource"`
		ResponseKind kind     `json:"responseKind"`
		Verbs        []string `json:"verbs"`
	} `json:"subresources"`
}

type legacyGroup struct {
	Name     string `json:"name"`
	Versions []struct {
		Version string `json:"version"`
	} `json:"versions"`
	Preferred struct {
		Version string `json:"version"`
	} `json:"preferredVersion"`
}

type legacyResource struct {
	kind
	Name       string   `json:"name"` // a name with a slash is a subresource
	Singular   string   `json:"singularName"`
	Namespaced bool     `json:"namespaced"`
	Verbs      []string `json:"verbs"`
	ShortNames []string `json:"shortNames"`
	Categories []string `json:"categories"`
}

// kind is a kind. If its group and version are those of the document, they may be omitted.
type kind struct {
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
}

// in returns the full name of a kind in a document of a group version.
func (k kind) in(gv schema.GroupVersion) schema.GroupVersionKind {
	if k.Version != "" {
		gv = schema.GroupVersion{Group: k.Group, Version: k.Version}
	}
	return gv.WithKind(k.Kind)
}

// groupVersion is the result of discovering a group version.
type groupVersion struct {
	schema.GroupVersion
	resources []served
	errs      []error // its failures
}

// parse decodes a document of one of the given kinds.
func parse(body []byte, kinds ...string) (*document, error) {
	d := new(document)
	if err := wire.UnmarshalJSON(body, d); err != nil {
		return nil, err
	}
	if !slices.Contains(kinds, d.Kind) {
		return nil, fmt.Errorf("the response has kind %q, want %s; is this the address of a Kubernetes API server?",
			d.Kind, strings.Join(kinds, " or "))
	}
	return d, nil
}

// stale is the freshness of a group version whose server does not respond to the API server.
const stale = "Stale"

// stale reports whether a group version of an APIGroupDiscoveryList is stale.
func (d *document) stale() bool {
	for _, g := range d.Items {
		for _, v := range g.Versions {
			if v.Freshness == stale {
				return true
			}
		}
	}
	return false
}

// aggregated returns the group versions of an APIGroupDiscoveryList.
func (d *document) aggregated() []groupVersion {
	var all []groupVersion
	for _, g := range d.Items {
		for _, v := range g.Versions {
			gv := groupVersion{GroupVersion: schema.GroupVersion{Group: g.Metadata.Name, Version: v.Version}}
			if v.Freshness == stale {
				gv.errs = append(gv.errs, ErrStale)
			}
			for _, r := range v.Resources {
				if r.ResponseKind.Kind != "" { // without a kind, only its subresources have objects
					gv.resources = append(gv.resources, r.in(gv.GroupVersion))
				}
			}
			all = append(all, gv)
		}
	}
	return all
}

func (r aggregatedResource) in(gv schema.GroupVersion) served {
	s := served{Resource: core.Resource{
		Group: gv.Group, Version: gv.Version, Kind: r.ResponseKind.Kind, Plural: r.Resource, Singular: r.Singular,
		Namespaced: r.Scope == "Namespaced", ShortNames: r.ShortNames, Categories: r.Categories, Verbs: r.Verbs,
	}}
	for _, sub := range r.Subresources {
		s.addPart(Subresource{sub.Subresource, sub.ResponseKind.in(gv), sub.Verbs})
	}
	return s
}

func (s *served) addPart(sub Subresource) {
	s.parts = append(s.parts, sub)
	s.Subresources = append(s.Subresources, sub.Name)
}

// groupVersions returns the group versions of an APIVersions or an APIGroupList, preferred ones first.
func (d *document) groupVersions() []schema.GroupVersion {
	var all []schema.GroupVersion
	for _, v := range d.Versions {
		all = append(all, schema.GroupVersion{Version: v})
	}
	for _, g := range d.Groups {
		first := len(all)
		for _, v := range g.Versions {
			gv := schema.GroupVersion{Group: g.Name, Version: v.Version}
			if v.Version == g.Preferred.Version {
				all = slices.Insert(all, first, gv)
			} else {
				all = append(all, gv)
			}
		}
	}
	return all
}

// resourcesIn returns the resources of an APIResourceList, which belongs to gv.
func (d *document) resourcesIn(gv schema.GroupVersion) []served {
	var all []served
	at := map[string]int{}
	for _, r := range d.Resources {
		if _, _, part := strings.Cut(r.Name, "/"); !part && r.Kind != "" {
			at[r.Name] = len(all)
			all = append(all, served{Resource: core.Resource{
				Group: gv.Group, Version: gv.Version, Kind: r.Kind, Plural: r.Name, Singular: r.Singular,
				Namespaced: r.Namespaced, ShortNames: r.ShortNames, Categories: r.Categories, Verbs: r.Verbs,
			}})
		}
	}
	for _, r := range d.Resources { // a subresource may precede its resource
		plural, sub, part := strings.Cut(r.Name, "/")
		if i, ok := at[plural]; ok && part {
			all[i].addPart(Subresource{sub, r.in(gv), r.Verbs})
		}
	}
	return all
}
