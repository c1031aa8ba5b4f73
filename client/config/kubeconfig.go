// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
)

// Kubeconfig is the content of one or more kubeconfig files. Paths are not resolved and nothing is validated. Its
// fields mirror https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/, in the order of the files.
type Kubeconfig struct {
	// APIVersion is "v1" or empty, Kind is "Config" or empty.
	APIVersion string `wire:"apiVersion"`
	Kind       string `wire:"kind"`
	// Preferences are settings of kubectl that used to be stored here, as JSON.
	Preferences json.RawMessage `wire:"preferences"`
	// Clusters, Users and Contexts are the stanzas. Names are unique within each list.
	Clusters []NamedCluster `wire:"clusters"`
	Users    []NamedUser    `wire:"users"`
	Contexts []NamedContext `wire:"contexts"`
	// CurrentContext is the name of the context to use if the options name none.
	CurrentContext string `wire:"current-context"`
	// Extensions are data of other programs.
	Extensions []Extension `wire:"extensions"`
	// Unknown contains the fields that this package does not know.
	Unknown Unknown
	// Origins are the files that k was read from. Earlier files take precedence.
	Origins []string
}

// NamedCluster is an entry of the list of clusters.
type NamedCluster struct {
	Name    string  `wire:"name"`
	Cluster Cluster `wire:"cluster"`
	Unknown Unknown
}

// NamedUser is an entry of the list of users.
type NamedUser struct {
	Name    string `wire:"name"`
	User    User   `wire:"user"`
	Unknown Unknown
}

// NamedContext is an entry of the list of contexts.
type NamedContext struct {
	Name    string  `wire:"name"`
	Context Context `wire:"context"`
	Unknown Unknown
}

// Cluster describes how to reach a server.
type Cluster struct {
	Server                   string      `wire:"server"`
	TLSServerName            string      `wire:"tls-server-name"`
	InsecureSkipTLSVerify    bool        `wire:"insecure-skip-tls-verify"`
	CertificateAuthority     string      `wire:"certificate-authority"`
	CertificateAuthorityData []byte      `wire:"certificate-authority-data"`
	ProxyURL                 string      `wire:"proxy-url"`
	DisableCompression       bool        `wire:"disable-compression"`
	Extensions               []Extension `wire:"extensions"`
	Unknown                  Unknown
	// Origin is the file that the stanza came from. Relative paths are relative to its directory.
	Origin string
}

// User contains the credentials of a user.
type User struct {
	ClientCertificate     string              `wire:"client-certificate"`
	ClientCertificateData []byte              `wire:"client-certificate-data"`
	ClientKey             string              `wire:"client-key"`
	ClientKeyData         Secret              `wire:"client-key-data,base64"`
	Token                 Secret              `wire:"token"`
	TokenFile             string              `wire:"tokenFile"`
	Impersonate           string              `wire:"as"`
	ImpersonateUID        string              `wire:"as-uid"`
	ImpersonateGroups     []string            `wire:"as-groups"`
	ImpersonateUserExtra  map[string][]string `wire:"as-user-extra"`
	Username              string              `wire:"username"`
	Password              Secret              `wire:"password"`
	AuthProvider          *AuthProvider       `wire:"auth-provider"`
	Exec                  *ExecConfig         `wire:"exec"`
	Extensions            []Extension         `wire:"extensions"`
	Unknown               Unknown
	// Origin is the file that the stanza came from. Relative paths are relative to its directory.
	Origin string
}

// Context combines a cluster, a user and a namespace under one name.
type Context struct {
	Cluster    string      `wire:"cluster"`
	User       string      `wire:"user"`
	Namespace  string      `wire:"namespace"`
	Extensions []Extension `wire:"extensions"`
	Unknown    Unknown
	// Origin is the file that the stanza came from.
	Origin string
}

// Extension contains data of another program, as JSON.
type Extension struct {
	Name      string          `wire:"name"`
	Extension json.RawMessage `wire:"extension"`
	Unknown   Unknown
}

// Unknown contains fields by name, as JSON. They may contain secrets, so printing shows only their number.
type Unknown map[string]json.RawMessage

// Parse decodes a kubeconfig, which is YAML or JSON in UTF-8 or, with a byte order mark, in UTF-16. file is the file
// that the data came from: errors name it, and relative paths are relative to its directory. It may be "".
//
// Empty data is an empty kubeconfig. Field names must match exactly; unknown fields are kept. A duplicate field or
// stanza is an error, and so is a value of the wrong type. Several YAML documents are merged like files: the first
// document that sets a value takes precedence.
func Parse(data []byte, file string) (*Kubeconfig, error) {
	where := cmp.Or(file, "kubeconfig")
	docs, err := decodeYAML(data, where)
	if err != nil {
		return nil, err
	}
	parts := make([]*Kubeconfig, len(docs))
	for i, doc := range docs {
		var err error
		if parts[i], err = decodeKubeconfig(doc, where); err != nil {
			return nil, err
		}
		if err := parts[i].check(where); err != nil {
			return nil, err
		}
	}
	kc := Merge(parts...)
	kc.setOrigin(file)
	return kc, nil
}

// check reports mistakes that make the whole file unusable.
func (k *Kubeconfig) check(file string) error {
	if k.Kind != "" && k.Kind != "Config" {
		return &FieldError{File: file, Field: "kind", Problem: fmt.Sprintf("is %q, want \"Config\"", k.Kind)}
	}
	if k.APIVersion != "" && k.APIVersion != "v1" {
		return &FieldError{File: file, Field: "apiVersion", Problem: fmt.Sprintf("is %q, want \"v1\"", k.APIVersion)}
	}
	var errs []error
	add := func(stanza string, repeated []string) {
		for _, name := range repeated {
			errs = append(errs, &FieldError{
				File: file, Stanza: stanza,
				Problem: fmt.Sprintf("duplicate name %q", name), Remedy: "rename or remove one",
			})
		}
	}
	for _, s := range sections() {
		add(s.kind+"s", duplicates(s.of(k)))
	}
	for i := range k.Clusters {
		c := &k.Clusters[i]
		add(fmt.Sprintf("cluster %q: extensions", c.Name), duplicates(listOf(&c.Cluster.Extensions)))
	}
	for i := range k.Users {
		u := &k.Users[i]
		add(fmt.Sprintf("user %q: extensions", u.Name), duplicates(listOf(&u.User.Extensions)))
	}
	for i := range k.Contexts {
		c := &k.Contexts[i]
		add(fmt.Sprintf("context %q: extensions", c.Name), duplicates(listOf(&c.Context.Extensions)))
	}
	return errors.Join(errs...)
}

func (k *Kubeconfig) setOrigin(file string) {
	k.Origins = nil
	if file != "" {
		k.Origins = []string{file}
	}
	for i := range k.Clusters {
		k.Clusters[i].Cluster.Origin = file
	}
	for i := range k.Users {
		k.Users[i].User.Origin = file
	}
	for i := range k.Contexts {
		k.Contexts[i].Context.Origin = file
	}
}
