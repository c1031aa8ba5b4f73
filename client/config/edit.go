// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package config

// Cluster returns a pointer to the cluster with the given name, or nil if it does not exist. Changes to it change k.
func (k *Kubeconfig) Cluster(name string) *Cluster {
	if found := find(k.Clusters, name); found != nil {
		return &found.Cluster
	}
	return nil
}

// User returns a pointer to the user with the given name, or nil if it does not exist. Changes to it change k.
func (k *Kubeconfig) User(name string) *User {
	if found := find(k.Users, name); found != nil {
		return &found.User
	}
	return nil
}

// Context returns a pointer to the context with the given name, or nil if it does not exist. Changes to it change k.
func (k *Kubeconfig) Context(name string) *Context {
	if found := find(k.Contexts, name); found != nil {
		return &found.Context
	}
	return nil
}

// SetCluster adds a cluster. If one with the name exists, it is replaced and stays in the same file.
func (k *Kubeconfig) SetCluster(name string, c Cluster) {
	if old := k.Cluster(name); old != nil {
		c.Origin = old.Origin
		*old = c
		return
	}
	k.Clusters = append(k.Clusters, NamedCluster{Name: name, Cluster: c})
}

// SetUser adds a user. If one with the name exists, it is replaced and stays in the same file.
func (k *Kubeconfig) SetUser(name string, u User) {
	if old := k.User(name); old != nil {
		u.Origin = old.Origin
		*old = u
		return
	}
	k.Users = append(k.Users, NamedUser{Name: name, User: u})
}

// SetContext adds a context. If one with the name exists, it is replaced and stays in the same file.
func (k *Kubeconfig) SetContext(name string, c Context) {
	if old := k.Context(name); old != nil {
		c.Origin = old.Origin
		*old = c
		return
	}
	k.Contexts = append(k.Contexts, NamedContext{Name: name, Context: c})
}

// DeleteCluster removes a cluster and reports whether it existed.
func (k *Kubeconfig) DeleteCluster(name string) bool { return listOf(&k.Clusters).remove(name) }

// DeleteUser removes a user and reports whether it existed.
func (k *Kubeconfig) DeleteUser(name string) bool { return listOf(&k.Users).remove(name) }

// DeleteContext removes a context and reports whether it existed. If it is the current context, CurrentContext is
// cleared.
func (k *Kubeconfig) DeleteContext(name string) bool {
	if k.CurrentContext == name {
		k.CurrentContext = ""
	}
	return listOf(&k.Contexts).remove(name)
}
