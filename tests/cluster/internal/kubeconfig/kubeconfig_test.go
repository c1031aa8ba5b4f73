// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kubeconfig_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-go/sdk/tests/cluster/internal/kubeconfig"
	"github.com/kube-go/sdk/tests/cluster/internal/pki"
)

func TestEncodeWritesEachUserAsAContextAndTheFirstAsTheCurrentOne(t *testing.T) {
	file := kubeconfig.File{
		Cluster: "test", Server: "https://127.0.0.1:6443", CA: []byte("ca"),
		Users: []kubeconfig.User{
			{Name: "admin", Client: pki.Pair{Cert: []byte("cert"), Key: []byte("key")}},
			{Name: "token", Token: "secret"},
		},
	}
	want := `apiVersion: v1
kind: Config
current-context: "admin"
clusters:
- name: "test"
  cluster:
    server: "https://127.0.0.1:6443"
    certificate-authority-data: Y2E=
contexts:
- name: "admin"
  context: {cluster: "test", user: "admin"}
- name: "token"
  context: {cluster: "test", user: "token"}
users:
- name: "admin"
  user:
    client-certificate-data: Y2VydA==
    client-key-data: a2V5
- name: "token"
  user:
    token: "secret"
`
	if diff := cmp.Diff(want, string(file.Encode())); diff != "" {
		t.Errorf("Encode (-want +got):\n%s", diff)
	}
}

func TestClustersOfAFileThatKubectlHasRewrittenAreFound(t *testing.T) {
	for _, test := range []struct {
		name, in string
		want     []string
	}{
		{
			name: "our file",
			in:   string(kubeconfig.File{Cluster: "mine", Users: []kubeconfig.User{{Name: "admin", Token: "t"}}}.Encode()),
			want: []string{"mine"},
		},
		{
			name: "after kubectl config use-context token",
			in: `apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: Y2E=
    server: https://127.0.0.1:6443
  name: mine
contexts:
- context:
    cluster: mine
    user: token
  name: token
current-context: token
kind: Config
users:
- name: token
  user:
    token: secret
`,
			want: []string{"mine"},
		},
		{
			name: "after kubectl config set-cluster other",
			in:   "clusters:\n- cluster:\n    server: a\n  name: mine\n- cluster:\n    server: b\n  name: other\n",
			want: []string{"mine", "other"},
		},
		{name: "without clusters", in: "apiVersion: v1\nkind: Config\nclusters: []\nusers:\n- name: mine\n"},
		{name: "another format", in: `{"clusters": [{"name": "mine"}]}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, kubeconfig.Clusters([]byte(test.in))); diff != "" {
				t.Errorf("Clusters (-want +got):\n%s", diff)
			}
		})
	}
}
