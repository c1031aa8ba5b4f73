// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package rbac_test

import (
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/kubetest/internal/rbac"
)

func TestUsersMayOnlyGrantTheirOwnRules(t *testing.T) {
	named := rule("get", "deployments")
	named.ResourceNames = []string{"a"}
	api := rbacv1.PolicyRule{Verbs: []string{"get"}, NonResourceURLs: []string{"/a/*"}}
	below := rbacv1.PolicyRule{Verbs: []string{"get"}, NonResourceURLs: []string{"/a/b", "/a/b/*"}}
	for _, tt := range []struct {
		name       string
		has, wants rbacv1.PolicyRule
		missing    string
	}{
		{"the same", rule("get", "deployments"), rule("get", "deployments"), ""},
		{"one of several", rule("get", "deployments", "jobs"), rule("get", "jobs"), ""},
		{"all resources", rule("get", "*"), rule("get", "deployments/scale"), ""},
		{"all resources without having them", rule("get", "deployments"), rule("get", "*"), `Resources:["*"], Verbs:["get"]`},
		{"a subresource", rule("get", "*/scale"), rule("get", "deployments/scale"), ""},
		{"all verbs", rule("get", "deployments"), rule("*", "deployments"), `Verbs:["*"]`},
		{"an object", rule("get", "deployments"), named, ""},
		{"all objects", named, rule("get", "deployments"), `{APIGroups:["apps"], Resources:["deployments"], Verbs:["get"]}`},
		{"paths below another one", api, below, ""},
		{"paths above another one", below, api, `{NonResourceURLs:["/a/*"], Verbs:["get"]}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := policy(rbacv1.ClusterRole{Rules: []rbacv1.PolicyRule{tt.has}})
			err := p.MayWrite(&rbac.User{Name: "jane"}, "roles", "shop", "a", []rbacv1.PolicyRule{tt.wants})
			if (err == nil) != (tt.missing == "") || err != nil && !strings.Contains(err.Error(), tt.missing) {
				t.Errorf("MayWrite = %v, want that %q is missing", err, tt.missing)
			}
		})
	}
}

func TestABindingGivesTheRulesOfItsRole(t *testing.T) {
	role := rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "reader"}, Rules: []rbacv1.PolicyRule{rule("get", "jobs")},
	}
	ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "reader"}
	bind := rbacv1.PolicyRule{
		Verbs: []string{"bind"}, APIGroups: []string{rbacv1.GroupName}, Resources: []string{"clusterroles"},
	}
	for _, tt := range []struct {
		has rbacv1.PolicyRule
		ok  bool
	}{{rule("get", "jobs"), true}, {rule("list", "jobs"), false}, {bind, true}} {
		p := policy(rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "own"}, Rules: []rbacv1.PolicyRule{tt.has}}, role)
		if err := p.MayBind(&rbac.User{Name: "jane"}, ref, ""); (err == nil) != tt.ok {
			t.Errorf("with the rule %+v, MayBind = %v, want that it is permitted: %v", tt.has, err, tt.ok)
		}
	}
}
