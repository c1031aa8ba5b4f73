// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/kube-go/sdk/kube"
)

func TestSetIDEqualsTheIDOfKubectl(t *testing.T) {
	secret := kube.Resource{Version: "v1", Kind: "Secret", Plural: "secrets", Namespaced: true}
	plan := kube.Resource{Group: "h3.example.com", Version: "v1", Kind: "Plan", Plural: "plans"}
	for _, tt := range []struct {
		name   string
		res    kube.Resource
		parent kube.ObjectRef
		want   string
	}{
		{
			"a secret", secret,
			kube.ObjectRef{Namespace: "test", Name: "my-set"},
			"applyset-0eFHV8ySqp7XoShsGvyWFQD3s96yqwHmzc4e0HR1dsY-v1",
		},
		{
			"a cluster-scoped custom resource", plan,
			kube.ObjectRef{Name: "web"},
			"applyset-zEHlnhCxx4X8Rs0YAIj9KAfOKfefW3Cl77NQv8q_X9k-v1",
		},
	} {
		if got := setID(tt.res, tt.parent); got != tt.want {
			t.Errorf("%s: setID = %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestGroupKindsAreSortedAsInKubectl(t *testing.T) {
	kinds := names{}
	kinds.add("Secret,Deployment.apps,,ConfigMap")
	if got := kinds.String(); got != "ConfigMap,Deployment.apps,Secret" {
		t.Errorf("String() = %s, want ConfigMap,Deployment.apps,Secret", got)
	}
}
