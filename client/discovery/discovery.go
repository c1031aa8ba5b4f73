// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"context"
	"fmt"
	"slices"

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

// aggregated asks for all of a root's groups in one document, in its stable form or else in the one before it. A server
// that knows neither answers in plain JSON, which tells it apart.
const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList," +
	"application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList," +
	wire.MediaTypeJSON

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
	Resource     string `json:"resource"`
	ResponseKind struct {
		Kind string `json:"kind"`
	} `json:"responseKind"`
	Scope        string   `json:"scope"`
	Singular     string   `json:"singularResource"`
	Verbs        []string `json:"verbs"`
	ShortNames   []string `json:"shortNames"`
	Categories   []string `json:"categories"`
	Subresources []struct {
		Subresource string `json:"subresource"`
	} `json:"subresources"`
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
	if _, err := wire.EncodingOf(resp.Header.Get("Content-Type")); err != nil {
		return nil, err // not JSON, so not an API server
	}
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
				if r.ResponseKind.Kind == "" { // only its subresources have objects
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

// Resources returns all resources in all versions, in the server's order of preference. What their slices hold must not
// be changed.
func (d *Discovery) Resources() []core.Resource { return slices.Clone(d.resources) }

// Stale returns the group versions whose server did not answer in time; what is known of them may be old.
func (d *Discovery) Stale() []string { return slices.Clone(d.stale) }
