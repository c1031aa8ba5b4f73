// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package record records the documents of package builtin from an API server.
package record

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/kubetest/internal/builtin"
)

const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

// Record returns the documents of a server by their names in package builtin. It leaves out the groups that the server
// does not serve itself: those of CustomResourceDefinitions and of aggregated API servers.
func Record(ctx context.Context, c *client.Client) (map[string][]byte, error) {
	r := &recorder{client: c, definitions: map[string]map[string]any{}}
	if err := r.discover(ctx); err != nil {
		return nil, err
	}
	if err := r.addSchemas(ctx); err != nil {
		return nil, err
	}
	var version struct{ GitVersion string }
	if err := r.get(ctx, "/version", "application/json", &version); err != nil {
		return nil, err
	}
	discovery, err := json.Marshal(r.groups)
	if err != nil {
		return nil, err
	}
	schemas, err := json.Marshal(r.definitions)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{
		builtin.DiscoveryDocument: discovery,
		builtin.SchemasDocument:   schemas,
		builtin.VersionDocument:   []byte(version.GitVersion + "\n"),
	}, nil
}

type recorder struct {
	client      *client.Client
	groups      apidiscoveryv2.APIGroupDiscoveryList
	definitions map[string]map[string]any
}

// discover reads the built-in groups.
func (r *recorder) discover(ctx context.Context) error {
	foreign, err := r.foreignGroups(ctx)
	if err != nil {
		return err
	}
	for _, path := range []string{"/api", "/apis"} {
		var list apidiscoveryv2.APIGroupDiscoveryList
		if err := r.get(ctx, path, aggregated, &list); err != nil {
			return err
		}
		r.groups.TypeMeta = list.TypeMeta
		r.groups.Items = append(r.groups.Items, list.Items...)
	}
	r.groups.Items = slices.DeleteFunc(r.groups.Items, func(group apidiscoveryv2.APIGroupDiscovery) bool {
		return foreign[group.Name]
	})
	return nil
}

// foreignGroups returns the groups that are not built in. The server labels the APIService of each group that it has
// from its start.
func (r *recorder) foreignGroups(ctx context.Context) (map[string]bool, error) {
	var services struct {
		Items []struct {
			Metadata struct{ Labels map[string]string }
			Spec     struct{ Group string }
		}
	}
	if err := r.get(ctx, "/apis/apiregistration.k8s.io/v1/apiservices", "application/json", &services); err != nil {
		return nil, err
	}
	foreign := map[string]bool{}
	for _, service := range services.Items {
		if service.Metadata.Labels["kube-aggregator.kubernetes.io/automanaged"] != "onstart" {
			foreign[service.Spec.Group] = true
		}
	}
	return foreign, nil
}

// addSchemas reads the definitions of all versions of the built-in groups.
func (r *recorder) addSchemas(ctx context.Context) error {
	for _, group := range r.groups.Items {
		for _, version := range group.Versions {
			path := "apis/" + group.Name + "/" + version.Version
			if group.Name == "" {
				path = "api/" + version.Version
			}
			if err := r.addDocument(ctx, "/openapi/v3/"+path); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *recorder) addDocument(ctx context.Context, path string) error {
	var document struct {
		Components struct{ Schemas map[string]map[string]any }
	}
	if err := r.get(ctx, path, "application/json", &document); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(document.Components.Schemas)) {
		definition := document.Components.Schemas[name]
		removeDescriptions(definition)
		if err := r.add(definition, name); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

// add adds a definition. Documents contain the same definitions, except that those of DeleteOptions and WatchEvent only
// list the kinds of one group; add combines them.
func (r *recorder) add(definition map[string]any, name string) error {
	const kinds = "x-kubernetes-group-version-kind"
	present, ok := r.definitions[name]
	if !ok {
		r.definitions[name] = definition
		return nil
	}
	a, _ := present[kinds].([]any)
	b, _ := definition[kinds].([]any)
	for _, kind := range b {
		if !slices.ContainsFunc(a, func(other any) bool { return reflect.DeepEqual(kind, other) }) {
			a = append(a, kind)
		}
	}
	if a != nil {
		present[kinds], definition[kinds] = a, a
	}
	if !reflect.DeepEqual(present, definition) {
		return fmt.Errorf("definition %s is different in another document", name)
	}
	return nil
}

// removeDescriptions removes the descriptions from a schema and from the schemas in it.
func removeDescriptions(s map[string]any) {
	delete(s, "description")
	for keyword, value := range s {
		switch value := value.(type) {
		case map[string]any:
			if keyword == "properties" {
				for _, property := range value {
					removeDescriptions(property.(map[string]any))
				}
			} else {
				removeDescriptions(value)
			}
		case []any:
			for _, element := range value {
				if element, ok := element.(map[string]any); ok {
					removeDescriptions(element)
				}
			}
		}
	}
}

func (r *recorder) get(ctx context.Context, path, accept string, into any) error {
	resp, err := r.client.Do(ctx, &request.Request{Verb: "get", Method: http.MethodGet, Path: path, Accept: accept})
	if err != nil {
		return fmt.Errorf("get %s: %w", path, err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
		return fmt.Errorf("get %s: %w", path, err)
	}
	return nil
}
