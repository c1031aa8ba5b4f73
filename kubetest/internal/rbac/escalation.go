// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package rbac

import (
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// MayWrite returns an error if a user may not write a role with the given rules. Its resource is "roles" or
// "clusterroles". The user needs the rules, or the verb escalate. The name is empty in a request that creates a role.
func (p *Policy) MayWrite(u *User, resource, ns, name string, rules []rbacv1.PolicyRule) error {
	r := &Request{Verb: "escalate", Group: rbacv1.GroupName, Resource: resource, Namespace: ns, Name: name}
	if ok, _ := p.Permits(u, r); ok {
		return nil
	}
	return p.covers(u, ns, rules)
}

// MayAggregate returns whether a user may write a role that collects the rules of others.
func (p *Policy) MayAggregate(u *User) bool { return p.covers(u, "", everything()) == nil }

// MayBind returns an error if a user may not write a binding. Its namespace is empty for a ClusterRoleBinding. The user
// needs the rules of the role, or the verb bind.
func (p *Policy) MayBind(u *User, role rbacv1.RoleRef, ns string) error {
	r := &Request{Verb: "bind", Group: role.APIGroup, Resource: "roles", Namespace: ns, Name: role.Name}
	if role.Kind == "ClusterRole" {
		r.Resource = "clusterroles"
	}
	if ok, _ := p.Permits(u, r); ok {
		return nil
	}
	rules, err := p.roleRules(role, ns)
	if err != nil { // servers name the resource of the binding
		kind := schema.GroupResource{Group: rbacv1.GroupName, Resource: "rolebindings"}
		if ns == "" {
			kind.Resource = "clusterrolebindings"
		}
		return apierrors.NewNotFound(kind, role.Name)
	}
	return p.covers(u, ns, rules)
}

// covers returns an error with the rules that a user does not have.
func (p *Policy) covers(u *User, ns string, rules []rbacv1.PolicyRule) error {
	own := p.Rules(u, ns)
	var missing []rbacv1.PolicyRule
	for _, rule := range rules {
		for _, part := range parts(rule) {
			if !slices.ContainsFunc(own, func(o rbacv1.PolicyRule) bool { return permits(&o, requestOf(part)) }) {
				missing = append(missing, part)
			}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("user %q (groups=%q) is attempting to grant RBAC permissions not currently held:\n%s%s",
		u.Name, u.Groups, strings.Join(descriptions(missing), "\n"), p.unresolved(u, ns))
}

// unresolved returns a text about the roles of a user that do not exist.
func (p *Policy) unresolved(u *User, ns string) string {
	var missing []error
	for g := range p.grants(u, ns) {
		if g.err != nil {
			missing = append(missing, g.err)
		}
	}
	if len(missing) == 0 {
		return ""
	}
	return "; resolution errors: [" + text(missing) + "]"
}

// parts returns a rule as rules with one verb and one resource, name or path.
func parts(rule rbacv1.PolicyRule) (all []rbacv1.PolicyRule) {
	for _, verb := range rule.Verbs {
		part := rbacv1.PolicyRule{Verbs: []string{verb}}
		for _, path := range rule.NonResourceURLs {
			part.NonResourceURLs = []string{path}
			all = append(all, part)
		}
		part.NonResourceURLs = nil
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				part.APIGroups, part.Resources = []string{group}, []string{resource}
				if len(rule.ResourceNames) == 0 {
					all = append(all, part)
				}
				for _, name := range rule.ResourceNames {
					named := part
					named.ResourceNames = []string{name}
					all = append(all, named)
				}
			}
		}
	}
	return all
}

// requestOf returns the request that a result of parts permits, in which * stands for itself.
func requestOf(part rbacv1.PolicyRule) *Request {
	r := &Request{Verb: part.Verbs[0]}
	if len(part.NonResourceURLs) > 0 {
		r.Path = part.NonResourceURLs[0]
		return r
	}
	r.Group = part.APIGroups[0]
	r.Resource, r.Subresource, _ = strings.Cut(part.Resources[0], "/")
	if len(part.ResourceNames) > 0 {
		r.Name = part.ResourceNames[0]
	}
	return r
}

// descriptions returns results of parts as servers describe them. Those that differ by their verbs are one text.
func descriptions(missing []rbacv1.PolicyRule) []string {
	var texts []string
	verbs := make(map[string][]string) // by the rest of the rule
	for _, part := range missing {
		if len(part.NonResourceURLs) > 0 {
			texts = append(texts, fmt.Sprintf("{NonResourceURLs:%q, Verbs:%q}", part.NonResourceURLs, part.Verbs))
			continue
		}
		rest := fmt.Sprintf("APIGroups:%q, Resources:%q", part.APIGroups, part.Resources)
		if len(part.ResourceNames) > 0 {
			rest += fmt.Sprintf(", ResourceNames:%q", part.ResourceNames)
		}
		verbs[rest] = append(verbs[rest], part.Verbs...)
	}
	for rest, list := range verbs {
		texts = append(texts, fmt.Sprintf("{%s, Verbs:%q}", rest, list))
	}
	slices.Sort(texts)
	return slices.Compact(texts)
}
