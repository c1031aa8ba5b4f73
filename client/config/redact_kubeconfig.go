// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"encoding/json"
	"fmt"
)

// The types of the kubeconfig model print without secrets. Each type that can contain a secret implements
// fmt.Formatter, although its Secret fields do too: with a verb that does not match, fmt prints the target of a pointer
// without calling the methods of its fields.

// String returns the files and the number of their entries.
func (k Kubeconfig) String() string {
	return fmt.Sprintf("kubeconfig %s: %d contexts, %d clusters, %d users",
		k.files(), len(k.Contexts), len(k.Clusters), len(k.Users))
}

// Format prints like String, whatever the verb.
func (k Kubeconfig) Format(f fmt.State, verb rune) { formatRedacted(f, verb, k.String(), k.String()) }

// String returns the name and the cluster.
func (n NamedCluster) String() string { return fmt.Sprintf("cluster %q %s", n.Name, n.Cluster) }

// Format prints like String, whatever the verb.
func (n NamedCluster) Format(f fmt.State, verb rune) { formatRedacted(f, verb, n.String(), n.String()) }

// String returns the name and the user.
func (n NamedUser) String() string { return fmt.Sprintf("user %q %s", n.Name, n.User) }

// Format prints like String, whatever the verb.
func (n NamedUser) Format(f fmt.State, verb rune) { formatRedacted(f, verb, n.String(), n.String()) }

// Format prints the name and the context, whatever the verb.
func (n NamedContext) Format(f fmt.State, verb rune) {
	text := fmt.Sprintf("context %q %v", n.Name, n.Context)
	formatRedacted(f, verb, text, text)
}

// Format prints the cluster, the user and the namespace, whatever the verb.
func (c Context) Format(f fmt.State, verb rune) {
	text := fmt.Sprintf("{cluster: %s, user: %s, namespace: %s}", c.Cluster, c.User, c.Namespace)
	formatRedacted(f, verb, text, text)
}

// Format prints the name, whatever the verb.
func (n Extension) Format(f fmt.State, verb rune) { formatRedacted(f, verb, n.text(), n.text()) }

// MarshalJSON returns what Format prints. Use [Kubeconfig.Encode] to write a kubeconfig.
func (n Extension) MarshalJSON() ([]byte, error) { return json.Marshal(n.text()) }

func (n Extension) text() string { return fmt.Sprintf("extension %q", n.Name) }

// String returns the fields that are set.
func (c Cluster) String() string { return c.config().String() }

// Format prints like String, whatever the verb.
func (c Cluster) Format(f fmt.State, verb rune) { formatRedacted(f, verb, c.String(), c.String()) }

// MarshalJSON returns the fields that String shows. Use [Kubeconfig.Encode] to write a kubeconfig.
func (c Cluster) MarshalJSON() ([]byte, error) { return json.Marshal(c.config()) }

// String returns the fields that are set, without secrets.
func (u User) String() string { return u.config().String() }

// Format prints like String, whatever the verb.
func (u User) Format(f fmt.State, verb rune) { formatRedacted(f, verb, u.String(), u.String()) }

// MarshalJSON returns the fields that String shows. Use [Kubeconfig.Encode] to write a kubeconfig.
func (u User) MarshalJSON() ([]byte, error) { return json.Marshal(u.config()) }

// String returns the name of the provider. It shows none of its settings.
func (a AuthProvider) String() string { return fmt.Sprintf("{name: %s}", a.Name) }

// Format prints like String, whatever the verb.
func (a AuthProvider) Format(f fmt.State, verb rune) { formatRedacted(f, verb, a.String(), a.String()) }

// String returns the name of the variable. It does not show its value.
func (v EnvVar) String() string { return v.Name + "=" + v.Value.String() }

// Format prints like String, whatever the verb.
func (v EnvVar) Format(f fmt.State, verb rune) { formatRedacted(f, verb, v.String(), v.String()) }

// String returns the number of fields.
func (u Unknown) String() string { return fmt.Sprintf("%d unknown fields", len(u)) }

// Format prints like String, whatever the verb.
func (u Unknown) Format(f fmt.State, verb rune) { formatRedacted(f, verb, u.String(), u.String()) }

// MarshalJSON returns the result of String.
func (u Unknown) MarshalJSON() ([]byte, error) { return json.Marshal(u.String()) }
