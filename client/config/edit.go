// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package config

import "slices"

// Cluster returns the cluster with the name, to read or change, or nil if there is none.
func (k *Kubeconfig) Cluster(name string) *Cluster {
	if found := find(k.Clusters, name); found != nil {
		return &found.Cluster
	}
	return nil
}

// User returns the user with the name, to read or change, or nil if there is none.
func (k *Kubeconfig) User(name string) *User {
	if found := find(k.Users, name); found != nil {
		return &found.User
	}
	return nil
}

// Context returns the context with the name, to read or change, or nil if there is none.
func (k *Kubeconfig) Context(name string) *Context {
	if found := find(k.Contexts, name); found != nil {
		return &found.Context
	}
	return nil
}

// SetCluster adds a cluster, or replaces the one with the name in the file that it is in.
func (k *Kubeconfig) SetCluster(name string, c Cluster) {
	if old := k.Cluster(name); old != nil {
		c.Origin = old.Origin
		*old = c
		return
	}
	k.Clusters = append(k.Clusters, NamedCluster{Name: name, Cluster: c})
}

// SetUser adds a user, or replaces the one with the name in the file that it is in.
func (k *Kubeconfig) SetUser(name string, u User) {
	if old := k.User(name); old != nil {
		u.Origin = old.Origin
		*old = u
		return
	}
	k.Users = append(k.Users, NamedUser{Name: name, User: u})
}

// SetContext adds a context, or replaces the one with the name in the file that it is in.
func (k *Kubeconfig) SetContext(name string, c Context) {
	if old := k.Context(name); old != nil {
		c.Origin = old.Origin
		*old = c
		return
	}
	k.Contexts = append(k.Contexts, NamedContext{Name: name, Context: c})
}

// DeleteCluster removes a cluster, and reports whether there was one.
func (k *Kubeconfig) DeleteCluster(name string) bool { return remove(&k.Clusters, name) }

// DeleteUser removes a user, and reports whether there was one.
func (k *Kubeconfig) DeleteUser(name string) bool { return remove(&k.Users, name) }

// DeleteContext removes a context, and reports whether there was one. When it is the current one, that is cleared.
func (k *Kubeconfig) DeleteContext(name string) bool {
	if k.CurrentContext == name {
		k.CurrentContext = ""
	}
	return remove(&k.Contexts, name)
}

// remove takes the entry with the name out of a list.
func remove[T named](list *[]T, name string) bool {
	before := len(*list)
	*list = slices.DeleteFunc(*list, func(item T) bool { return item.key() == name })
	if len(*list) == 0 {
		*list = nil // says nothing, rather than that there are none
	}
	return len(*list) < before
}
