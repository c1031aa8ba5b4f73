// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-go/sdk/client/config"
)

func TestMergePrefersTheFirstFile(t *testing.T) {
	const one = `
current-context: one
preferences: {}
clusters: [{name: red, cluster: {server: https://one}}]
users: [{name: red-user, user: {token: one}}]
contexts: [{name: one, context: {cluster: red, user: red-user}}]
extensions: [{name: x, extension: 1}]
future: 1
`
	const two = `
apiVersion: v1
kind: Config
current-context: two
preferences: {colors: true}
clusters: [{name: blue, cluster: {server: https://two}}, {name: red, cluster: {server: https://two, proxy-url: http://two}}]
users: [{name: red-user, user: {username: two, password: two}}, {name: blue-user, user: {token: two}}]
contexts: [{name: two, context: {cluster: blue, user: blue-user}}, {name: one, context: {namespace: two}}]
extensions: [{name: x, extension: 2}, {name: y2, extension: 2}]
future: 2
past: 2
`
	for _, test := range []struct {
		name string
		in   []*config.Kubeconfig
		want *config.Kubeconfig
	}{
		{"no kubeconfigs", nil, &config.Kubeconfig{}},
		{"one kubeconfig", []*config.Kubeconfig{parse(t, one, "/one")}, func() *config.Kubeconfig {
			kc := parse(t, one, "/one")
			kc.Preferences = nil // an empty mapping is dropped
			return kc
		}()},
		{
			"two kubeconfigs, each stanza as a whole",
			[]*config.Kubeconfig{parse(t, one, "/one"), parse(t, two, "/two")},
			&config.Kubeconfig{
				APIVersion: "v1", Kind: "Config", CurrentContext: "one", Preferences: json.RawMessage(`{"colors":true}`),
				Clusters: []config.NamedCluster{
					{Name: "red", Cluster: config.Cluster{Server: "https://one", Origin: "/one"}},
					{Name: "blue", Cluster: config.Cluster{Server: "https://two", Origin: "/two"}},
				},
				Users: []config.NamedUser{
					{Name: "red-user", User: config.User{Token: "one", Origin: "/one"}},
					{Name: "blue-user", User: config.User{Token: "two", Origin: "/two"}},
				},
				Contexts: []config.NamedContext{
					{Name: "one", Context: config.Context{Cluster: "red", User: "red-user", Origin: "/one"}},
					{Name: "two", Context: config.Context{Cluster: "blue", User: "blue-user", Origin: "/two"}},
				},
				Extensions: []config.Extension{
					{Name: "x", Extension: json.RawMessage("1")}, {Name: "y2", Extension: json.RawMessage("2")},
				},
				Unknown: config.Unknown{"future": json.RawMessage("1"), "past": json.RawMessage("2")},
				Origins: []string{"/one", "/two"},
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, config.Merge(test.in...)); diff != "" {
				t.Errorf("Merge() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMergeDoesNotChangeItsArguments(t *testing.T) {
	const text = "clusters: [{name: a}]\nfuture: 1\n"
	one, two := parse(t, text, "/one"), parse(t, "clusters: [{name: b}]\npast: 1\n", "/two")
	config.Merge(one, two)
	if diff := cmp.Diff(parse(t, text, "/one"), one); diff != "" {
		t.Errorf("Merge() changed its argument (-want +got):\n%s", diff)
	}
}
