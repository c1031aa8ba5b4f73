// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// document declares the required fields of an aggregated discovery document, apidiscovery.k8s.io/v2
// APIGroupDiscoveryList.
type document struct {
	Items []struct {
		Metadata struct{ Name string }
		Versions []struct {
			Version   string
			Resources []struct {
				Resource         string
				ResponseKind     struct{ Kind string }
				Scope            string
				SingularResource string
				Verbs            []string
				ShortNames       []string
				Categories       []string
				Subresources     []struct{ Subresource string }
			}
		}
	}
}

// trimDiscovery reads discovery documents and writes a snapshot: a JSON array with one resource per line.
func trimDiscovery(r io.Reader, w io.Writer) error {
	var served []kind
	dec := json.NewDecoder(r)
	for {
		var doc document
		if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return fmt.Errorf("read discovery document: %w", err)
		}
		served = append(served, doc.kinds()...)
	}
	slices.SortFunc(served, func(a, b kind) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Version, b.Version), cmp.Compare(a.Plural, b.Plural))
	})
	lines := make([]string, len(served))
	for i, k := range served {
		line, err := json.Marshal(k)
		if err != nil {
			return err
		}
		lines[i] = string(line)
	}
	_, err := fmt.Fprintf(w, "[\n%s\n]\n", strings.Join(lines, ",\n"))
	return err
}

func (d document) kinds() []kind {
	var kinds []kind
	for _, group := range d.Items {
		for _, version := range group.Versions {
			for _, r := range version.Resources {
				k := kind{
					Group: group.Metadata.Name, Version: version.Version, Kind: r.ResponseKind.Kind,
					Plural: r.Resource, Namespaced: r.Scope == "Namespaced", Singular: r.SingularResource,
					ShortNames: r.ShortNames, Categories: r.Categories, Verbs: r.Verbs,
				}
				for _, sub := range r.Subresources {
					k.Subresources = append(k.Subresources, sub.Subresource)
				}
				slices.Sort(k.Verbs)
				slices.Sort(k.Subresources)
				kinds = append(kinds, k)
			}
		}
	}
	return kinds
}

// parseSnapshot reads the output of trimDiscovery.
func parseSnapshot(data []byte) ([]kind, error) {
	var served []kind
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&served); err != nil {
		return nil, fmt.Errorf("read snapshot: %w", err)
	}
	return served, nil
}

// merge completes and corrects the kinds of the source code with the server's resources. Kinds that the server does not
// serve get the short names and categories of the same kind in another version. The source code may be newer than the
// server, so subresources are taken from both. A type that neither a marker nor the server identifies as a kind needs
// an entry in noCollection.
func merge(kinds, served []kind) ([]kind, error) {
	merged := make([]kind, len(kinds))
	for i, k := range kinds {
		for _, s := range served {
			if k.note != "" || s.Group != k.Group || s.Kind != k.Kind {
				continue
			}
			k.ShortNames, k.Categories = s.ShortNames, s.Categories
			if s.Version == k.Version {
				k.Plural, k.Namespaced, k.Singular, k.Verbs = s.Plural, s.Namespaced, s.Singular, s.Verbs
				k.Subresources = slices.Compact(slices.Sorted(slices.Values(slices.Concat(k.Subresources, s.Subresources))))
				k.hasClient = true
				break
			}
		}
		if !k.hasClient && k.note == "" {
			return nil, fmt.Errorf("%s: no +genclient and not served: add the reason to noCollection", k.goType)
		}
		merged[i] = k
	}
	return merged, nil
}
