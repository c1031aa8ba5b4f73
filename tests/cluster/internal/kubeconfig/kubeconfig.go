// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package kubeconfig writes kubeconfig files, and recognizes them.
package kubeconfig

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/kube-go/sdk/tests/cluster/internal/pki"
)

// ClusterName is the name of the cluster in the files of all clusters of this module.
const ClusterName = "kubecluster"

// User is a user of the cluster and the name of the context that uses it.
type User struct {
	Name   string
	Client pki.Pair // or
	Token  string
}

// File is a kubeconfig with one cluster, and one context per user. The first user's context is the current one.
type File struct {
	Cluster string // name
	Server  string // URL
	CA      []byte // PEM
	Users   []User
}

// Encode returns the file as YAML. Names are quoted as JSON strings, which are valid YAML; all other values are base64
// or need no quotes.
func (f File) Encode() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "apiVersion: v1\nkind: Config\ncurrent-context: %q\nclusters:\n", f.Users[0].Name)
	fmt.Fprintf(&b, "- name: %q\n  cluster:\n", f.Cluster)
	fmt.Fprintf(&b, "    server: %q\n    certificate-authority-data: %s\n", f.Server, encode(f.CA))
	b.WriteString("contexts:\n")
	for _, user := range f.Users {
		fmt.Fprintf(&b, "- name: %q\n  context: {cluster: %q, user: %q}\n", user.Name, f.Cluster, user.Name)
	}
	b.WriteString("users:\n")
	for _, user := range f.Users {
		fmt.Fprintf(&b, "- name: %q\n  user:\n", user.Name)
		if user.Token != "" {
			fmt.Fprintf(&b, "    token: %q\n", user.Token)
			continue
		}
		fmt.Fprintf(&b, "    client-certificate-data: %s\n", encode(user.Client.Cert))
		fmt.Fprintf(&b, "    client-key-data: %s\n", encode(user.Client.Key))
	}
	return b.Bytes()
}

// Clusters returns the names of the clusters of a kubeconfig that [File.Encode] or kubectl wrote: kubectl orders the
// fields of an entry by their names, and quotes only names that need it. For other files, it may return nothing.
func Clusters(content []byte) []string {
	var names []string
	section := ""
	for line := range strings.Lines(string(content)) {
		line = strings.TrimRight(line, "\r\n")
		if line != "" && !strings.ContainsRune(" -#", rune(line[0])) {
			section = line
			continue
		}
		name, ok := strings.CutPrefix(line, "- name: ")
		if !ok {
			name, ok = strings.CutPrefix(line, "  name: ")
		}
		if section == "clusters:" && ok {
			names = append(names, strings.Trim(name, `"'`))
		}
	}
	return names
}

func encode(data []byte) string { return base64.StdEncoding.EncodeToString(data) }
