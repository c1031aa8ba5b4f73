// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-go/sdk/kubetest/internal/rbac"
	"github.com/kube-go/sdk/kubetest/internal/store"
)

// userOf returns the user that a request impersonates, or a user who may do everything.
func userOf(r *http.Request) (rbac.User, error) {
	const prefix = "Impersonate-"
	name, uid, groups := r.Header.Get(prefix+"User"), r.Header.Get(prefix+"Uid"), r.Header.Values(prefix+"Group")
	var extra map[string][]string
	for header, values := range r.Header {
		key, ok := strings.CutPrefix(header, prefix+"Extra-")
		if !ok {
			continue
		}
		if unescaped, err := url.PathUnescape(key); err == nil {
			key = unescaped
		}
		if extra == nil {
			extra = make(map[string][]string)
		}
		extra[strings.ToLower(key)] = values
	}
	switch {
	case name != "":
		return rbac.NewUser(name, uid, groups, extra), nil
	case uid != "" || len(groups) > 0 || len(extra) > 0:
		return rbac.User{}, apierrors.NewBadRequest(fmt.Sprintf(
			"requested &user.DefaultInfo{Name:%q, UID:%q, Groups:%#v, Extra:%#v} without impersonating a user name",
			name, uid, groups, extra))
	default:
		return rbac.User{Name: "kubetest", Groups: []string{rbac.Masters, rbac.Authenticated}}, nil
	}
}

// permitPath returns an error if the user may not read a path that is not one of a resource.
func (s *Server) permitPath(u *rbac.User, r *http.Request) error {
	request := &rbac.Request{Verb: strings.ToLower(r.Method), Path: r.URL.Path}
	ok, reason := s.permits(u, request)
	if ok {
		return nil
	}
	text := fmt.Sprintf("User %q cannot %s path %q", u.Name, request.Verb, request.Path)
	if reason != "" {
		text += ": " + reason
	}
	return denied(r.Context(), apierrors.NewForbidden(schema.GroupResource{}, "", errors.New(text)))
}

// permit returns an error if the user of the call may not use its verb.
func (c *call) permit() error {
	if err := c.refusal(c.verb()); err != nil {
		return denied(c.Context(), err)
	}
	return nil
}

// refusal returns the error if the user of the call may not use a verb, or nil.
func (c *call) refusal(verb string) *apierrors.StatusError {
	r := &rbac.Request{
		Verb: verb, Group: c.kind.Group, Resource: c.kind.Plural, Subresource: c.subresource,
		Namespace: c.ref.Namespace, Name: c.ref.Name,
	}
	if c.kind.resource() == namespaces() {
		r.Namespace = c.ref.Name
	}
	if r.Name == "" && verb != "create" {
		r.Name = selectedName(c.query)
	}
	ok, reason := c.permits(&c.user, r)
	if ok {
		return nil
	}
	scope := "at the cluster scope"
	if r.Namespace != "" {
		scope = fmt.Sprintf("in the namespace %q", r.Namespace)
	}
	text := fmt.Sprintf("User %q cannot %s resource %q in API group %q %s",
		c.user.Name, verb, r.FullResource(), r.Group, scope)
	if reason != "" {
		text += ": " + reason
	}
	gr := schema.GroupResource{Group: r.Group, Resource: r.Resource}
	return apierrors.NewForbidden(gr, r.Name, errors.New(text))
}

// selectedName returns the name of the only object that a field selector selects.
func selectedName(query url.Values) string {
	selector, err := fields.ParseSelector(query.Get("fieldSelector"))
	if err != nil {
		return ""
	}
	name, _ := selector.RequiresExactMatch("metadata.name")
	return name
}

// verb returns the verb of the call, as roles name it.
func (c *call) verb() string {
	collection := c.ref.Name == ""
	switch c.Method {
	case http.MethodGet:
		watch := c.query.Get("watch")
		switch {
		case !collection:
			return "get"
		case watch != "" && watch != "0" && watch != "false":
			return "watch"
		default:
			return "list"
		}
	case http.MethodPost:
		return "create"
	case http.MethodPut:
		return "update"
	case http.MethodDelete:
		if collection {
			return "deletecollection"
		}
		return "delete"
	default:
		return strings.ToLower(c.Method)
	}
}

// permits returns whether the roles and bindings of the server permit a request.
func (s *Server) permits(u *rbac.User, r *rbac.Request) (ok bool, reason string) {
	if slices.Contains(u.Groups, rbac.Masters) {
		return true, ""
	}
	return s.policy().Permits(u, r)
}

// policy returns the roles and bindings of the server.
func (s *Server) policy() (p *rbac.Policy) {
	_ = s.Store.Update(true, func(tx *store.Tx) error {
		p = policyOf(tx)
		return nil
	})
	return p
}

func policyOf(tx *store.Tx) *rbac.Policy {
	return &rbac.Policy{
		Roles:               allOf[rbacv1.Role](tx, "roles"),
		ClusterRoles:        allOf[rbacv1.ClusterRole](tx, "clusterroles"),
		RoleBindings:        allOf[rbacv1.RoleBinding](tx, "rolebindings"),
		ClusterRoleBindings: allOf[rbacv1.ClusterRoleBinding](tx, "clusterrolebindings"),
	}
}

// allOf returns the objects of a kind of RBAC.
func allOf[K any](tx *store.Tx, plural string) []K {
	list := tx.List(schema.GroupResource{Group: rbacv1.GroupName, Resource: plural})
	objects := make([]K, len(list))
	for i, obj := range list {
		// The object was encoded from its Go type.
		_ = runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &objects[i])
	}
	return objects
}

// rulesOf returns the rules of a user for a SelfSubjectRulesReview.
func (s *Server) rulesOf(u *rbac.User, ns string) (resources, paths []any) {
	strs := func(values []string) []any {
		list := make([]any, len(values))
		for i, v := range values {
			list[i] = v
		}
		return list
	}
	for _, rule := range s.policy().Rules(u, ns) {
		out := map[string]any{"verbs": strs(rule.Verbs)}
		if len(rule.NonResourceURLs) > 0 {
			out["nonResourceURLs"] = strs(rule.NonResourceURLs)
			paths = append(paths, out)
			continue
		}
		out["apiGroups"], out["resources"] = strs(rule.APIGroups), strs(rule.Resources)
		if len(rule.ResourceNames) > 0 {
			out["resourceNames"] = strs(rule.ResourceNames)
		}
		resources = append(resources, out)
	}
	return resources, paths
}
