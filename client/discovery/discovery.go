// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
)

// Options are the options of [Discover]. There are none yet.
type Options struct{}

// Discovery is what a server served at one moment.
type Discovery struct {
	resources []core.Resource
	stale     []string
}

// aggregated asks for all of a root's groups in one document; a server that knows only the older form of it falls back
// by itself.
const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList," +
	"application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"

// groupList is APIGroupDiscoveryList, cut down to what is used here.
type groupList struct {
	Kind  string `json:"kind"`
	Items []struct {
		Metadata struct {
			Name string `json:"name"`
		} `json:"metadata"`
		Versions []groupVersion `json:"versions"`
	} `json:"items"`
}

type groupVersion struct {
	Version   string     `json:"version"`
	Freshness string     `json:"freshness"`
	Resources []resource `json:"resources"`
}

type resource struct {
	Resource     string   `json:"resource"`
	ResponseKind *kind    `json:"responseKind"`
	Scope        string   `json:"scope"`
	Singular     string   `json:"singularResource"`
	Verbs        []string `json:"verbs"`
	ShortNames   []string `json:"shortNames"`
	Categories   []string `json:"categories"`
	Subresources []struct {
		Subresource string `json:"subresource"`
	} `json:"subresources"`
}

type kind struct {
	Kind string `json:"kind"`
}

// Discover asks the server for all it serves.
func Discover(ctx context.Context, c *client.Client, _ *Options) (*Discovery, error) {
	d := &Discovery{}
	for _, root := range []string{"/api", "/apis"} {
		list, err := fetch(ctx, c, root)
		if err != nil {
			return nil, fmt.Errorf("discover %s: %w", root, err)
		}
		d.add(list)
	}
	return d, nil
}

func fetch(ctx context.Context, c *client.Client, root string) (*groupList, error) {
	resp, err := c.Do(ctx, &request.Request{Verb: "get", Method: "GET", Path: root, Accept: aggregated})
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := wire.ReadBody(resp.Body, nil)
	if err != nil {
		return nil, err
	}
	list := new(groupList)
	if err := wire.UnmarshalJSON(body, list); err != nil {
		return nil, err
	}
	if list.Kind != "APIGroupDiscoveryList" {
		return nil, fmt.Errorf("the server answers with a %q, not with aggregated discovery; it needs Kubernetes 1.27 or newer", list.Kind)
	}
	return list, nil
}

func (d *Discovery) add(list *groupList) {
	for _, g := range list.Items {
		for _, v := range g.Versions {
			gv := core.Resource{Group: g.Metadata.Name, Version: v.Version}
			if v.Freshness == "Stale" {
				d.stale = append(d.stale, gv.APIVersion())
			}
			for _, r := range v.Resources {
				if r.ResponseKind == nil { // only subresources have an object of their own kind
					continue
				}
				d.resources = append(d.resources, r.in(gv))
			}
		}
	}
}

func (r resource) in(res core.Resource) core.Resource {
	res.Kind, res.Plural, res.Singular = r.ResponseKind.Kind, r.Resource, r.Singular
	res.Namespaced = r.Scope == "Namespaced"
	res.ShortNames, res.Categories, res.Verbs = r.ShortNames, r.Categories, r.Verbs
	for _, s := range r.Subresources {
		res.Subresources = append(res.Subresources, s.Subresource)
	}
	return res
}

// Resources returns all resources in all versions, in the server's order of preference.
func (d *Discovery) Resources() []core.Resource { return slices.Clone(d.resources) }

// Stale returns the group versions whose server did not answer in time; what is known of them may be old.
func (d *Discovery) Stale() []string { return slices.Clone(d.stale) }

// UnknownResourceError says that a name fits nothing the server has.
type UnknownResourceError struct {
	Name   string
	Nearby []string // names that come near
}

// Error names the name, and those near it.
func (e *UnknownResourceError) Error() string {
	msg := fmt.Sprintf("the server has no resource %q", e.Name)
	if len(e.Nearby) > 0 {
		return msg + "; did you mean " + strings.Join(e.Nearby, " or ") + "?"
	}
	return msg + "; a resource that a CustomResourceDefinition defines must be installed first"
}

// Resolve finds a resource by its plural, singular or short name or its kind, in any case, alone or followed by a group
// or by a version with a group: deploy, Deployment, deployments.apps, deployments.v1.apps. Of several the one that
// the server prefers is taken.
//
// Errors: [*UnknownResourceError].
func (d *Discovery) Resolve(name string) (core.Resource, error) {
	for _, match := range []func(core.Resource, string) bool{hasPlural, hasOtherName} {
		for _, r := range d.resources {
			if matches(r, strings.ToLower(name), match) {
				return r, nil
			}
		}
	}
	return core.Resource{}, &UnknownResourceError{Name: name, Nearby: d.nearby(name)}
}

// matches tries the name as a whole, then as name.group, then as name.version.group.
func matches(r core.Resource, name string, match func(core.Resource, string) bool) bool {
	if match(r, name) {
		return true
	}
	short, rest, ok := strings.Cut(name, ".")
	return ok && match(r, short) && (rest == r.Group || rest == r.Version+"."+r.Group || r.Group == "" && rest == r.Version)
}

func hasPlural(r core.Resource, name string) bool { return r.Plural == name }

func hasOtherName(r core.Resource, name string) bool {
	return r.Singular == name || strings.ToLower(r.Kind) == name || slices.Contains(r.ShortNames, name)
}

// nearby returns up to three plural names that differ from name in a few letters.
func (d *Discovery) nearby(name string) []string {
	name, _, _ = strings.Cut(strings.ToLower(name), ".")
	type candidate struct {
		plural string
		far    int
	}
	var found []candidate
	for _, r := range d.resources {
		far := min(distance(name, r.Plural), distance(name, r.Singular))
		if far <= max(1, len(name)/3) {
			found = append(found, candidate{r.String(), far})
		}
	}
	slices.SortFunc(found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.far, b.far), cmp.Compare(a.plural, b.plural))
	})
	var names []string
	for _, c := range slices.Compact(found) {
		names = append(names, c.plural)
	}
	return names[:min(len(names), 3)]
}

// distance is how many letters must be inserted, removed or replaced to make a of b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
