// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"cmp"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/kube-go/sdk/core/abi"
	"github.com/kube-go/sdk/core/wire"
)

// Rules returns the permissions that a module has used in a recording of [Module.Record]. They are those that it needs if
// the recording has everything that it does.
func Rules(recording io.Reader) ([]abi.Rule, error) {
	s, err := readScript(recording)
	if err != nil {
		return nil, err
	}
	type target struct{ group, resource string }
	used := make(map[target]map[string]bool)
	add := func(group, resource string, verbs ...string) {
		t := target{group, resource}
		if used[t] == nil {
			used[t] = make(map[string]bool)
		}
		for _, verb := range verbs {
			used[t][verb] = true
		}
	}
	for key := range s.asked {
		kind, text, _ := strings.Cut(key, " ")
		switch kind[1:] {
		case "1": // abi.OpRequest
			method, target, _ := strings.Cut(text, " ")
			if group, resource, verb := usedBy(method, target); verb != "" {
				add(group, resource, verb)
			}
		case "3": // abi.OpWatch
			var w abi.Watch
			if err := wire.UnmarshalJSON([]byte(text), &w); err != nil {
				continue // the host has refused it
			}
			add(w.Group, w.Resource, "list", "watch")
		}
	}
	var rules []abi.Rule
	for t, verbs := range used {
		rules = append(rules, abi.Rule{
			APIGroups: []string{t.group}, Resources: []string{t.resource}, Verbs: slices.Sorted(maps.Keys(verbs)),
		})
	}
	slices.SortFunc(rules, func(a, b abi.Rule) int {
		return cmp.Or(strings.Compare(a.APIGroups[0], b.APIGroups[0]), strings.Compare(a.Resources[0], b.Resources[0]))
	})
	return rules, nil
}

// usedBy returns the permission that a request needs. The verb is empty if it is not a request for objects.
func usedBy(method, target string) (group, resource, verb string) {
	u, err := url.Parse(target)
	if err != nil {
		return "", "", ""
	}
	parts := strings.Split(strings.Trim(u.Path, "/"), "/")
	switch {
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		group, parts = parts[1], parts[3:]
	default:
		return "", "", ""
	}
	if len(parts) > 2 && parts[0] == "namespaces" && parts[2] != "status" && parts[2] != "finalize" {
		parts = parts[2:]
	}
	resource = parts[0]
	if len(parts) > 2 {
		resource += "/" + parts[2]
	}
	named := len(parts) > 1
	switch method {
	case http.MethodGet, http.MethodHead:
		switch watch := u.Query().Get("watch"); {
		case watch == "true" || watch == "1":
			verb = "watch"
		case named:
			verb = "get"
		default:
			verb = "list"
		}
	case http.MethodPost:
		verb = "create"
	case http.MethodPut:
		verb = "update"
	case http.MethodPatch:
		verb = "patch"
	case http.MethodDelete:
		if verb = "delete"; !named {
			verb = "deletecollection"
		}
	}
	return group, resource, verb
}
