// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package rbac decides what roles and their bindings permit, as
// https://kubernetes.io/docs/reference/access-authn-authz/rbac/ describes.
package rbac

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The groups of users.
const (
	Masters       = "system:masters" // everything is permitted
	Authenticated = "system:authenticated"

	serviceAccounts = "system:serviceaccounts"
)

// User is the sender of a request.
type User struct {
	Name, UID string
	Groups    []string
	Extra     map[string][]string
}

// NewUser returns the user of a request that impersonates. Without groups, a service account has its groups.
func NewUser(name, uid string, groups []string, extra map[string][]string) User {
	if ns, ok := NamespaceOf(name); ok && len(groups) == 0 {
		groups = []string{serviceAccounts, serviceAccounts + ":" + ns}
	}
	if !slices.Contains(groups, Authenticated) && name != "system:anonymous" {
		groups = append(slices.Clone(groups), Authenticated)
	}
	return User{Name: name, UID: uid, Groups: groups, Extra: extra}
}

// NamespaceOf returns the namespace of a service account, from its name as a user.
func NamespaceOf(user string) (ns string, ok bool) {
	name, ok := strings.CutPrefix(user, "system:serviceaccount:")
	ns, name, found := strings.Cut(name, ":")
	return ns, ok && found && ns != "" && name != ""
}

// Request is a request. It is for a resource, unless it has a path.
type Request struct {
	Verb string

	Group, Resource, Subresource, Namespace, Name string

	Path string
}

// FullResource returns the resource as rules name it: "pods/log".
func (r *Request) FullResource() string {
	if r.Subresource == "" {
		return r.Resource
	}
	return r.Resource + "/" + r.Subresource
}

// Policy has all roles and bindings of a cluster.
type Policy struct {
	Roles               []rbacv1.Role
	ClusterRoles        []rbacv1.ClusterRole
	RoleBindings        []rbacv1.RoleBinding
	ClusterRoleBindings []rbacv1.ClusterRoleBinding
}

// Permits returns whether a user may send a request. The reason names the binding, or the roles that do not exist.
func (p *Policy) Permits(u *User, r *Request) (ok bool, reason string) {
	if slices.Contains(u.Groups, Masters) {
		return true, ""
	}
	var missing []error
	for g := range p.grants(u, r.Namespace) {
		if g.err != nil {
			missing = append(missing, g.err)
			continue
		}
		if slices.ContainsFunc(g.rules, func(rule rbacv1.PolicyRule) bool { return permits(&rule, r) }) {
			return true, "RBAC: allowed by " + g.binding
		}
	}
	if len(missing) > 0 {
		return false, "rbac: RBAC: " + text(missing)
	}
	return false, ""
}

// text returns several errors as a server does.
func text(errs []error) string {
	texts := make([]string, 0, len(errs))
	for _, err := range errs {
		if !slices.Contains(texts, err.Error()) {
			texts = append(texts, err.Error())
		}
	}
	if len(texts) == 1 {
		return texts[0]
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

// Rules returns the rules of a user in a namespace.
func (p *Policy) Rules(u *User, ns string) (rules []rbacv1.PolicyRule) {
	if slices.Contains(u.Groups, Masters) {
		return everything()
	}
	for g := range p.grants(u, ns) {
		rules = append(rules, g.rules...)
	}
	return rules
}

// grant is what a binding gives to a user.
type grant struct {
	binding string
	rules   []rbacv1.PolicyRule
	err     error // the role does not exist
}

// grants yields what the bindings give to a user, first those of the cluster.
func (p *Policy) grants(u *User, ns string) func(yield func(grant) bool) {
	return func(yield func(grant) bool) {
		for _, b := range append(defaultBindings(), p.ClusterRoleBindings...) {
			subject, ok := subjectOf(b.Subjects, u, "")
			if !ok {
				continue
			}
			rules, err := p.clusterRules(b.RoleRef.Name)
			if !yield(grant{describe("ClusterRoleBinding", b.Name, b.RoleRef, subject), rules, err}) {
				return
			}
		}
		if ns == "" {
			return
		}
		for _, b := range p.RoleBindings {
			subject, ok := subjectOf(b.Subjects, u, b.Namespace)
			if b.Namespace != ns || !ok {
				continue
			}
			rules, err := p.roleRules(b.RoleRef, ns)
			if !yield(grant{describe("RoleBinding", b.Name+"/"+ns, b.RoleRef, subject), rules, err}) {
				return
			}
		}
	}
}

func describe(kind, name string, role rbacv1.RoleRef, subject rbacv1.Subject) string {
	who := fmt.Sprintf("%s %q", subject.Kind, subject.Name)
	if subject.Namespace != "" {
		who = fmt.Sprintf("%s %q", subject.Kind, subject.Name+"/"+subject.Namespace)
	}
	return fmt.Sprintf("%s %q of %s %q to %s", kind, name, role.Kind, role.Name, who)
}

// subjectOf returns the subject that a user is. Service accounts without a namespace are in that of the binding.
func subjectOf(subjects []rbacv1.Subject, u *User, ns string) (rbacv1.Subject, bool) {
	for _, s := range subjects {
		var ok bool
		switch s.Kind {
		case rbacv1.UserKind:
			ok = s.Name == u.Name
		case rbacv1.GroupKind:
			ok = slices.Contains(u.Groups, s.Name)
		case rbacv1.ServiceAccountKind:
			at := s.Namespace
			if at == "" {
				at = ns
			}
			ok = at != "" && u.Name == "system:serviceaccount:"+at+":"+s.Name
		}
		if ok {
			return s, true
		}
	}
	return rbacv1.Subject{}, false
}

func (p *Policy) roleRules(ref rbacv1.RoleRef, ns string) ([]rbacv1.PolicyRule, error) {
	if ref.Kind == "ClusterRole" {
		return p.clusterRules(ref.Name)
	}
	for _, role := range p.Roles {
		if role.Namespace == ns && role.Name == ref.Name {
			return role.Rules, nil
		}
	}
	return nil, notFound("role", "roles", ref.Name)
}

func (p *Policy) clusterRules(name string) ([]rbacv1.PolicyRule, error) {
	for _, role := range append(slices.Clone(p.ClusterRoles), defaultRoles()...) {
		if role.Name != name {
			continue
		}
		rules := role.Rules
		if role.AggregationRule != nil {
			rules = append(slices.Clone(rules), p.aggregated(role.AggregationRule)...)
		}
		return rules, nil
	}
	return nil, notFound("clusterrole", "clusterroles", name)
}

// aggregated returns the rules of the roles that another one collects, which a controller does in a cluster.
func (p *Policy) aggregated(from *rbacv1.AggregationRule) (rules []rbacv1.PolicyRule) {
	for _, s := range from.ClusterRoleSelectors {
		selector, err := metav1.LabelSelectorAsSelector(&s)
		for _, role := range p.ClusterRoles {
			if err == nil && role.AggregationRule == nil && selector.Matches(labels.Set(role.Labels)) {
				rules = append(rules, role.Rules...)
			}
		}
	}
	return rules
}

func notFound(singular, plural, name string) error {
	err := apierrors.NewNotFound(schema.GroupResource{Group: rbacv1.GroupName, Resource: plural}, name)
	return errors.New(strings.Replace(err.Error(), plural, singular, 1))
}

// permits returns whether a rule permits a request.
func permits(rule *rbacv1.PolicyRule, r *Request) bool {
	if !has(rule.Verbs, r.Verb) {
		return false
	}
	if r.Path != "" {
		return slices.ContainsFunc(rule.NonResourceURLs, func(pattern string) bool {
			prefix, ok := strings.CutSuffix(pattern, "*")
			return pattern == r.Path || ok && strings.HasPrefix(r.Path, prefix)
		})
	}
	resource := has(rule.Resources, r.FullResource()) ||
		r.Subresource != "" && slices.Contains(rule.Resources, "*/"+r.Subresource)
	return has(rule.APIGroups, r.Group) && resource &&
		(len(rule.ResourceNames) == 0 || slices.Contains(rule.ResourceNames, r.Name))
}

// has returns whether a list contains a value or all values.
func has(list []string, value string) bool {
	return slices.Contains(list, "*") || slices.Contains(list, value)
}

// everything returns the rules that permit each request.
func everything() []rbacv1.PolicyRule {
	all := []string{"*"}
	return []rbacv1.PolicyRule{{Verbs: all, APIGroups: all, Resources: all}, {Verbs: all, NonResourceURLs: all}}
}

// defaultRoles returns the roles that each cluster has and that programs depend on.
func defaultRoles() []rbacv1.ClusterRole {
	role := func(name string, rules ...rbacv1.PolicyRule) rbacv1.ClusterRole {
		return rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}
	}
	return []rbacv1.ClusterRole{
		role("cluster-admin", everything()...),
		role("system:discovery", rbacv1.PolicyRule{Verbs: []string{"get"}, NonResourceURLs: []string{
			"/api", "/api/*", "/apis", "/apis/*", "/healthz", "/livez", "/openapi", "/openapi/*", "/readyz", "/version", "/version/",
		}}),
		role("system:basic-user",
			rbacv1.PolicyRule{Verbs: []string{"create"}, APIGroups: []string{"authorization.k8s.io"}, Resources: []string{
				"selfsubjectaccessreviews", "selfsubjectrulesreviews",
			}},
			rbacv1.PolicyRule{Verbs: []string{"create"}, APIGroups: []string{"authentication.k8s.io"}, Resources: []string{
				"selfsubjectreviews",
			}},
		),
		role("system:public-info-viewer", rbacv1.PolicyRule{Verbs: []string{"get"}, NonResourceURLs: []string{
			"/healthz", "/livez", "/readyz", "/version", "/version/",
		}}),
	}
}

// defaultBindings returns the bindings that each cluster has for all users.
func defaultBindings() []rbacv1.ClusterRoleBinding {
	bind := func(role string, groups ...string) rbacv1.ClusterRoleBinding {
		b := rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: role},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		}
		for _, group := range groups {
			b.Subjects = append(b.Subjects, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: group})
		}
		return b
	}
	return []rbacv1.ClusterRoleBinding{
		bind("system:basic-user", Authenticated), bind("system:discovery", Authenticated),
		bind("system:public-info-viewer", Authenticated, "system:unauthenticated"),
	}
}
