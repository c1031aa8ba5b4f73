// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Kubeconfig is what one or more kubeconfig files say, as they say it: paths are not resolved and nothing is validated.
// Its fields mirror https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/, in the order of the files.
type Kubeconfig struct {
	// APIVersion is "v1" or empty, Kind is "Config" or empty.
	APIVersion string `wire:"apiVersion"`
	Kind       string `wire:"kind"`
	// Preferences are the settings of kubectl that used to live here, as JSON.
	Preferences json.RawMessage `wire:"preferences"`
	// Clusters, Users and Contexts are the stanzas. Names are unique within each list.
	Clusters []NamedCluster `wire:"clusters"`
	Users    []NamedUser    `wire:"users"`
	Contexts []NamedContext `wire:"contexts"`
	// CurrentContext is the name of the context to use where none is asked for.
	CurrentContext string `wire:"current-context"`
	// Extensions belong to other programs.
	Extensions []Extension `wire:"extensions"`
	// Unknown holds the fields this package does not know.
	Unknown Unknown
	// Origins are the files this was read from, the first taking precedence over the next.
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

// Cluster says where a server is. Printing it shows no password of a proxy.
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
	// Origin is the file the stanza came from: relative paths are relative to its folder.
	Origin string
}

// User says how to prove who one is.
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
	// Origin is the file the stanza came from: relative paths are relative to its folder.
	Origin string
}

// Context brings a cluster, a user and a namespace together under one name.
type Context struct {
	Cluster    string      `wire:"cluster"`
	User       string      `wire:"user"`
	Namespace  string      `wire:"namespace"`
	Extensions []Extension `wire:"extensions"`
	Unknown    Unknown
	// Origin is the file the stanza came from.
	Origin string
}

// Extension is data of another program, as JSON.
type Extension struct {
	Name      string          `wire:"name"`
	Extension json.RawMessage `wire:"extension"`
	Unknown   Unknown
}

// Unknown holds fields by name, as JSON. They may be anything, secrets too, so printing shows only how many there are.
type Unknown map[string]json.RawMessage

// String tells how many fields there are.
func (u Unknown) String() string { return fmt.Sprintf("%d unknown fields", len(u)) }

// GoString is String.
func (u Unknown) GoString() string { return u.String() }

// Format prints as String does, whatever the verb is.
func (u Unknown) Format(f fmt.State, verb rune) { formatRedacted(f, verb, u.String(), u.GoString()) }

// MarshalJSON writes what String shows.
func (u Unknown) MarshalJSON() ([]byte, error) { return json.Marshal(u.String()) }

// String lists the fields that are set.
func (c Cluster) String() string { return c.config().String() }

// GoString is String with the name of the type.
func (c Cluster) GoString() string { return "config.Cluster" + c.String() }

// Format prints as String or GoString do, whatever the verb is.
func (c Cluster) Format(f fmt.State, verb rune) { formatRedacted(f, verb, c.String(), c.GoString()) }

// MarshalJSON writes what String shows. [Kubeconfig.Encode] writes the form of a kubeconfig.
func (c Cluster) MarshalJSON() ([]byte, error) { return json.Marshal(c.config()) }

// Parse reads the text of a kubeconfig, which is YAML or JSON in UTF-8 or, with a byte order mark, UTF-16.
// The file is where it came from: it is named in errors, and relative paths are relative to its folder. It may be "".
//
// Empty text is an empty kubeconfig. Fields are matched by their exact name; those that are not known are kept.
// A field or stanza that is there twice is an error, and so are values of the wrong type. When there are several YAML
// documents, they are merged as files are: the first that says something wins.
func Parse(data []byte, file string) (*Kubeconfig, error) {
	docs, err := decodeYAML(data)
	if err != nil {
		return nil, parseError(file, err)
	}
	parts := make([]*Kubeconfig, len(docs))
	for i, doc := range docs {
		parts[i] = new(Kubeconfig)
		err := decodeObject(doc, parts[i])
		if err == nil {
			err = parts[i].checkHeader()
		}
		if err == nil {
			err = parts[i].checkNames()
		}
		if err != nil {
			return nil, parseError(file, err)
		}
	}
	kc := Merge(parts...)
	kc.setOrigin(file)
	return kc, nil
}

// parseError puts the file before what is wrong with it; a position in the text joins them without a space.
func parseError(file string, err error) error {
	if file == "" {
		file = "kubeconfig"
	}
	if pos, ok := errors.AsType[*positionError](err); ok && pos.line > 0 {
		return fmt.Errorf("%s:%d: %s", file, pos.line, pos.problem)
	}
	return fmt.Errorf("%s: %w", file, err)
}

func (k *Kubeconfig) checkHeader() error {
	if k.Kind != "" && k.Kind != "Config" {
		return fmt.Errorf("kind is %q, a kubeconfig has kind Config", k.Kind)
	}
	if k.APIVersion != "" && k.APIVersion != "v1" {
		return fmt.Errorf("apiVersion is %q, only v1 is known", k.APIVersion)
	}
	return nil
}

// checkNames reports every name that two stanzas of a list share.
func (k *Kubeconfig) checkNames() error {
	errs := []error{
		duplicates("cluster", k.Clusters),
		duplicates("user", k.Users),
		duplicates("context", k.Contexts),
		duplicates("extension", k.Extensions),
	}
	for _, c := range k.Clusters {
		errs = append(errs, duplicates(fmt.Sprintf("cluster %q: extension", c.Name), c.Cluster.Extensions))
	}
	for _, u := range k.Users {
		errs = append(errs, duplicates(fmt.Sprintf("user %q: extension", u.Name), u.User.Extensions))
	}
	for _, c := range k.Contexts {
		errs = append(errs, duplicates(fmt.Sprintf("context %q: extension", c.Name), c.Context.Extensions))
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

// named is an entry of one of the lists of a kubeconfig.
type named interface{ key() string }

func (n NamedCluster) key() string { return n.Name }
func (n NamedUser) key() string    { return n.Name }
func (n NamedContext) key() string { return n.Name }
func (n Extension) key() string    { return n.Name }

func duplicates[T named](what string, list []T) error {
	seen := map[string]int{}
	var errs []error
	for _, item := range list {
		seen[item.key()]++
		if seen[item.key()] == 2 {
			errs = append(errs, fmt.Errorf("%s %q is there twice: rename or remove one", what, item.key()))
		}
	}
	return errors.Join(errs...)
}

// find returns the entry with the name, or nil.
func find[T named](list []T, name string) *T {
	if i := slices.IndexFunc(list, func(item T) bool { return item.key() == name }); i >= 0 {
		return &list[i]
	}
	return nil
}

// names lists the names of the entries in their order.
func names[T named](list []T) []string {
	out := make([]string, len(list))
	for i, item := range list {
		out[i] = item.key()
	}
	return out
}
