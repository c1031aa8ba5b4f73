// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package rbac_test

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/kubetest/internal/rbac"
)

// policy returns a policy in which each user jane has a cluster role.
func policy(role rbacv1.ClusterRole, more ...rbacv1.ClusterRole) *rbac.Policy {
	return &rbac.Policy{
		ClusterRoles: append(more, role),
		ClusterRoleBindings: []rbacv1.ClusterRoleBinding{{
			RoleRef:  rbacv1.RoleRef{Kind: "ClusterRole", Name: role.Name},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: "jane"}},
		}},
	}
}

// rule returns a rule for resources of the group apps.
func rule(verb string, resources ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: []string{verb}, APIGroups: []string{"apps"}, Resources: resources}
}

func TestRulesPermitRequests(t *testing.T) {
	labeled := rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "part", Labels: map[string]string{"to": "all"}},
		Rules:      []rbacv1.PolicyRule{rule("get", "deployments")},
	}
	aggregated := rbacv1.ClusterRole{AggregationRule: &rbacv1.AggregationRule{
		ClusterRoleSelectors: []metav1.LabelSelector{{MatchLabels: map[string]string{"to": "all"}}},
	}}
	get := rbac.Request{Verb: "get", Group: "apps", Resource: "deployments", Namespace: "shop", Name: "a"}
	status, other, list := get, get, get
	status.Subresource, other.Group, list.Verb, list.Name = "status", "", "list", ""
	named := rule("get", "deployments")
	named.ResourceNames = []string{"a"}
	for _, tt := range []struct {
		name    string
		role    rbacv1.ClusterRole
		request rbac.Request
		want    bool
	}{
		{"the verb and the resource", rbacv1.ClusterRole{Rules: []rbacv1.PolicyRule{rule("get", "deployments")}}, get, true},
		{"another verb", rbacv1.ClusterRole{Rules: []rbacv1.PolicyRule{rule("get", "deployments")}}, list, false},
		{"another group", rbacv1.ClusterRole{Rules: []rbacv1.PolicyRule{rule("get", "deployments")}}, other, false},
		{"a subresource", rbacv1.ClusterRole{Rules: []rbacv1.PolicyRule{rule("get", "deployments")}}, status, false},
		{"all resources", rbacv1.ClusterRole{Rules: []rbacv1.PolicyRule{rule("*", "*")}}, status, true},
		{"a subresource of all", rbacv1.ClusterRole{Rules: []rbacv1.PolicyRule{rule("get", "*/status")}}, status, true},
		{"not the object", rbacv1.ClusterRole{Rules: []rbacv1.PolicyRule{rule("get", "*/status")}}, get, false},
		{"a named object", rbacv1.ClusterRole{Rules: []rbacv1.PolicyRule{named}}, get, true},
		{"all objects", rbacv1.ClusterRole{Rules: []rbacv1.PolicyRule{named}}, list, false},
		{"rules of other roles", aggregated, get, true},
		{"discovery", rbacv1.ClusterRole{}, rbac.Request{Verb: "get", Path: "/apis/apps"}, true},
		{"another path", rbacv1.ClusterRole{}, rbac.Request{Verb: "get", Path: "/metrics"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			user := rbac.NewUser("jane", "", nil, nil)
			if got, reason := policy(tt.role, labeled).Permits(&user, &tt.request); got != tt.want {
				t.Errorf("Permits = %v (%s), want %v", got, reason, tt.want)
			}
		})
	}
	admin := &rbac.Policy{ClusterRoleBindings: policy(rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "cluster-admin"},
	}).ClusterRoleBindings}
	user := rbac.NewUser("jane", "", nil, nil)
	if ok, reason := admin.Permits(&user, &get); !ok {
		t.Errorf("a binding to the default role cluster-admin does not permit a request: %s", reason)
	}
}
