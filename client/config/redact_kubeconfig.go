// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"encoding/json"
	"fmt"
)

// The types of the kubeconfig model print without secrets. Each that can hold one formats itself, although the secrets
// in it do so too: given a verb that does not fit, fmt prints what a pointer points to without asking its fields.

// String names the files and counts what is in them.
func (k Kubeconfig) String() string {
	return fmt.Sprintf("kubeconfig %s: %d contexts, %d clusters, %d users",
		k.files(), len(k.Contexts), len(k.Clusters), len(k.Users))
}

// Format prints as String does, whatever the verb is.
func (k Kubeconfig) Format(f fmt.State, verb rune) { formatRedacted(f, verb, k.String(), k.String()) }

// String shows the name and the cluster.
func (n NamedCluster) String() string { return fmt.Sprintf("cluster %q %s", n.Name, n.Cluster) }

// Format prints as String does, whatever the verb is.
func (n NamedCluster) Format(f fmt.State, verb rune) { formatRedacted(f, verb, n.String(), n.String()) }

// String shows the name and the user.
func (n NamedUser) String() string { return fmt.Sprintf("user %q %s", n.Name, n.User) }

// Format prints as String does, whatever the verb is.
func (n NamedUser) Format(f fmt.State, verb rune) { formatRedacted(f, verb, n.String(), n.String()) }

// Format prints the name and the context, whatever the verb is.
func (n NamedContext) Format(f fmt.State, verb rune) {
	text := fmt.Sprintf("context %q %v", n.Name, n.Context)
	formatRedacted(f, verb, text, text)
}

// Format prints the cluster, the user and the namespace, whatever the verb is.
func (c Context) Format(f fmt.State, verb rune) {
	text := fmt.Sprintf("{cluster: %s, user: %s, namespace: %s}", c.Cluster, c.User, c.Namespace)
	formatRedacted(f, verb, text, text)
}

// Format prints the name, whatever the verb is.
func (n Extension) Format(f fmt.State, verb rune) { formatRedacted(f, verb, n.text(), n.text()) }

// MarshalJSON writes what Format prints. [Kubeconfig.Encode] writes a kubeconfig.
func (n Extension) MarshalJSON() ([]byte, error) { return json.Marshal(n.text()) }

func (n Extension) text() string { return fmt.Sprintf("extension %q", n.Name) }

// String lists the fields that are set.
func (c Cluster) String() string { return c.config().String() }

// Format prints as String does, whatever the verb is.
func (c Cluster) Format(f fmt.State, verb rune) { formatRedacted(f, verb, c.String(), c.String()) }

// MarshalJSON writes what String shows. [Kubeconfig.Encode] writes a kubeconfig.
func (c Cluster) MarshalJSON() ([]byte, error) { return json.Marshal(c.config()) }

// String lists the fields that are set, without secrets.
func (u User) String() string { return u.config().String() }

// Format prints as String does, whatever the verb is.
func (u User) Format(f fmt.State, verb rune) { formatRedacted(f, verb, u.String(), u.String()) }

// MarshalJSON writes what String shows. [Kubeconfig.Encode] writes a kubeconfig.
func (u User) MarshalJSON() ([]byte, error) { return json.Marshal(u.config()) }

// String names the provider, and shows none of its settings.
func (a AuthProvider) String() string { return fmt.Sprintf("{name: %s}", a.Name) }

// Format prints as String does, whatever the verb is.
func (a AuthProvider) Format(f fmt.State, verb rune) { formatRedacted(f, verb, a.String(), a.String()) }

// String names the variable, and does not show its value.
func (v EnvVar) String() string { return v.Name + "=" + v.Value.String() }

// Format prints as String does, whatever the verb is.
func (v EnvVar) Format(f fmt.State, verb rune) { formatRedacted(f, verb, v.String(), v.String()) }

// String tells how many fields there are.
func (u Unknown) String() string { return fmt.Sprintf("%d unknown fields", len(u)) }

// Format prints as String does, whatever the verb is.
func (u Unknown) Format(f fmt.State, verb rune) { formatRedacted(f, verb, u.String(), u.String()) }

// MarshalJSON writes what String shows.
func (u Unknown) MarshalJSON() ([]byte, error) { return json.Marshal(u.String()) }
