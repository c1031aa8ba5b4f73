// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package rbac

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Rule is what one marker asks for.
type Rule struct {
	Groups, Resources, ResourceNames, URLs, Verbs []string

	Namespace string // "" for all of them
	Role      string // "" for the default one
}

// Role is a ClusterRole, or a Role when it has a namespace.
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

// Roles gathers rules into roles, ordered by namespace and name. Rules without a role belong to the named one. What
// several rules say of the same resources is said once, as controller-gen does.
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

// YAML writes roles as people read them.
func YAML(roles []Role) ([]byte, error) {
	var out []byte
	for i, role := range roles {
		body, err := yaml.Marshal(role)
		if err != nil {
			return nil, fmt.Errorf("encode role %s: %w", role.Metadata.Name, err)
		}
		if i > 0 {
			out = append(out, "---\n"...)
		}
		out = append(out, body...)
	}
	return out, nil
}

// merged says the same with as few rules as possible: first those for the same things are joined, then those that differ
// in their resources, in their groups, in their URLs alone.
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

// split makes a rule for each resource, each list of it in order and without repetitions.
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

// join makes one rule of all that are the same but for the list that without takes away.
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

// order is what rules are sorted by; controller-gen sorts by the same text.
func (r Rule) order() string {
	var lists []string
	for _, list := range [][]string{r.Groups, r.Resources, r.ResourceNames, r.URLs} {
		lists = append(lists, strings.Join(list, "&"))
	}
	return strings.Join(lists, " + ")
}
