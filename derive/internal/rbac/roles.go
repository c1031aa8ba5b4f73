// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package rbac

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Rule has the permissions of one marker.
type Rule struct {
	Groups, Resources, ResourceNames, URLs, Verbs []string

	Namespace string // empty for all namespaces
	Role      string // empty for the default role
}

// Role is a ClusterRole, or a Role if it has a namespace.
type Role struct {
	APIVersion string       `json:"apiVersion"`
	Kind       string       `json:"kind"`
	Metadata   metadata     `json:"metadata"`
	Rules      []policyRule `json:"rules"`
}

type metadata struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace,omitempty"`
}

type policyRule struct {
	APIGroups       []string `json:"apiGroups,omitempty"`
	Resources       []string `json:"resources,omitempty"`
	ResourceNames   []string `json:"resourceNames,omitempty"`
	NonResourceURLs []string `json:"nonResourceURLs,omitempty"`
	Verbs           []string `json:"verbs"`
}

// Roles returns the roles of rules, ordered by namespace and name. The named role has the rules without a role. Like
// controller-gen, it merges rules of the same resources.
func Roles(rules []Rule, name string) []Role {
	type key struct{ namespace, name string }
	byRole := map[key][]Rule{}
	for _, r := range rules {
		k := key{r.Namespace, cmp.Or(r.Role, name)}
		byRole[k] = append(byRole[k], r)
	}
	var roles []Role
	for k, list := range byRole {
		role := Role{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole", Metadata: metadata{k.name, k.namespace}}
		if k.namespace != "" {
			role.Kind = "Role"
		}
		for _, r := range merged(list) {
			role.Rules = append(role.Rules, policyRule{
				APIGroups:       r.Groups,
				Resources:       r.Resources,
				ResourceNames:   r.ResourceNames,
				NonResourceURLs: r.URLs,
				Verbs:           r.Verbs,
			})
		}
		roles = append(roles, role)
	}
	slices.SortFunc(roles, func(a, b Role) int {
		return cmp.Or(cmp.Compare(a.Metadata.Namespace, b.Metadata.Namespace), cmp.Compare(a.Metadata.Name, b.Metadata.Name))
	})
	return roles
}

// merged merges rules with the same permissions into as few rules as possible: first rules with the same subject, then
// rules that differ only in their resources, their groups, or their URLs.
func merged(rules []Rule) []Rule {
	rules = join(split(rules), func(r Rule) Rule { r.Verbs = nil; return r })
	rules = join(rules, func(r Rule) Rule { r.Resources = nil; return r })
	rules = join(rules, func(r Rule) Rule { r.Groups = nil; return r })
	rules = join(rules, func(r Rule) Rule { r.URLs = nil; return r })
	slices.SortFunc(rules, func(a, b Rule) int { return cmp.Compare(a.order(), b.order()) })
	for i := range rules {
		if slices.Contains(rules[i].Verbs, "*") {
			rules[i].Verbs = []string{"*"}
		}
	}
	return rules
}

// split returns a rule for each resource, with sorted lists without duplicates.
func split(rules []Rule) []Rule {
	var out []Rule
	for _, r := range rules {
		groups := slices.Clone(r.Groups)
		for i, g := range groups {
			if g == "core" {
				groups[i] = ""
			}
		}
		r.Groups = groups
		if len(r.Resources) == 0 {
			out = append(out, r.normal())
		}
		for _, resource := range r.Resources {
			one := r
			one.Resources = []string{resource}
			out = append(out, one.normal())
		}
	}
	return out
}

// join merges rules that differ only in the list that without removes.
func join(rules []Rule, without func(Rule) Rule) []Rule {
	at := map[string]int{}
	var out []Rule
	for _, r := range rules {
		key := without(r).key()
		i, ok := at[key]
		if !ok {
			at[key] = len(out)
			out = append(out, r)
			continue
		}
		out[i] = out[i].union(r)
	}
	return out
}

func (r Rule) union(o Rule) Rule {
	r.Groups = slices.Concat(r.Groups, o.Groups)
	r.Resources = slices.Concat(r.Resources, o.Resources)
	r.ResourceNames = slices.Concat(r.ResourceNames, o.ResourceNames)
	r.URLs = slices.Concat(r.URLs, o.URLs)
	r.Verbs = slices.Concat(r.Verbs, o.Verbs)
	return r.normal()
}

func (r Rule) normal() Rule {
	for _, list := range []*[]string{&r.Groups, &r.Resources, &r.ResourceNames, &r.URLs, &r.Verbs} {
		*list = slices.Compact(slices.Sorted(slices.Values(*list)))
	}
	return r
}

func (r Rule) key() string {
	return fmt.Sprintf("%q", [][]string{r.Groups, r.Resources, r.ResourceNames, r.URLs, r.Verbs})
}

// order returns the sort key of a rule, which is the same as in controller-gen.
func (r Rule) order() string {
	var lists []string
	for _, list := range [][]string{r.Groups, r.Resources, r.ResourceNames, r.URLs} {
		lists = append(lists, strings.Join(list, "&"))
	}
	return strings.Join(lists, " + ")
}
