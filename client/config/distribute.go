// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// section is one of the lists of a kubeconfig.
type section[T named] struct {
	kind   string
	list   func(*Kubeconfig) *[]T
	origin func(T) string
	check  func(place, T) // reports values that must not be written
}

// distribute applies each difference between before and after to the part that it belongs to.
func (m *modification) distribute() error {
	if err := m.after.check(m.after.files()); err != nil {
		return err
	}
	var c checker
	err := errors.Join(
		distribute(m, section[NamedCluster]{
			"cluster", func(k *Kubeconfig) *[]NamedCluster { return &k.Clusters },
			func(n NamedCluster) string { return n.Cluster.Origin }, c.writtenCluster,
		}),
		distribute(m, section[NamedUser]{
			"user", func(k *Kubeconfig) *[]NamedUser { return &k.Users },
			func(n NamedUser) string { return n.User.Origin }, c.writtenUser,
		}),
		distribute(m, section[NamedContext]{
			"context", func(k *Kubeconfig) *[]NamedContext { return &k.Contexts },
			func(n NamedContext) string { return n.Context.Origin }, func(place, NamedContext) {},
		}),
		distribute(m, section[Extension]{
			"extension", func(k *Kubeconfig) *[]Extension { return &k.Extensions },
			func(Extension) string { return "" }, func(place, Extension) {},
		}),
	)
	m.value(func(k *Kubeconfig) string { return k.CurrentContext },
		func(k *Kubeconfig) { k.CurrentContext = m.after.CurrentContext })
	m.value(func(k *Kubeconfig) string { return string(k.Preferences) },
		func(k *Kubeconfig) { k.Preferences = m.after.Preferences })
	m.unknown()
	return errors.Join(err, errors.Join(c.errs...))
}

// distribute applies the differences of one list to the parts.
func distribute[T named](m *modification, s section[T]) error {
	var errs []error
	for _, item := range *s.list(m.after) {
		if err := s.bring(m, item); err != nil {
			errs = append(errs, err)
		}
	}
	for _, old := range *s.list(m.before) {
		if find(*s.list(m.after), old.key()) != nil {
			continue
		}
		for i, part := range m.parts {
			m.changed[i] = remove(s.list(part), old.key()) || m.changed[i]
		}
	}
	return errors.Join(errs...)
}

// bring writes a stanza to the part that it belongs to, if the stanza is new or has changed.
func (s section[T]) bring(m *modification, item T) error {
	p := place{file: s.origin(item), stanza: fmt.Sprintf("%s %q", s.kind, item.key())}
	if old := find(*s.list(m.before), item.key()); old != nil {
		if p.file = s.origin(*old); p.file != s.origin(item) {
			return p.errorf("", "delete it, then add it in a second call", "cannot be moved to the file %q", s.origin(item))
		}
		if same, err := sameStanza(*old, item); same || err != nil {
			return err
		}
	}
	if item.key() == "" {
		return p.errorf("name", "give it a name", "is missing")
	}
	s.check(p, item)
	to, err := m.partOf(p.file, func(k *Kubeconfig) bool { return find(*s.list(k), item.key()) != nil })
	if err != nil {
		return p.errorf("", "leave it empty", "%v", err)
	}
	list := s.list(m.parts[to])
	if in := find(*list, item.key()); in != nil {
		*in = item
	} else {
		*list = append(*list, item)
	}
	m.changed[to] = true
	return nil
}

// sameStanza reports whether two stanzas have the same content.
func sameStanza[T named](a, b T) (bool, error) {
	first, err := encodeObject(reflect.ValueOf(a))
	if err != nil {
		return false, fmt.Errorf("%q: %w", a.key(), err)
	}
	second, err := encodeObject(reflect.ValueOf(b))
	if err != nil {
		return false, fmt.Errorf("%q: %w", b.key(), err)
	}
	return bytes.Equal(first, second), nil
}

// partOf returns the index of the first part that has the item, or otherwise of the part of the given file.
func (m *modification) partOf(file string, has func(*Kubeconfig) bool) (int, error) {
	if i := slices.IndexFunc(m.parts, has); i >= 0 {
		return i, nil
	}
	if file == "" {
		return m.fallback, nil
	}
	if i := slices.IndexFunc(m.parts, func(k *Kubeconfig) bool { return k.Origins[0] == file }); i >= 0 {
		return i, nil
	}
	return 0, fmt.Errorf("its Origin %q is not one of the files", file)
}

// value writes a single value to the part that it belongs to. If the value was removed, it is removed from all parts.
func (m *modification) value(get func(*Kubeconfig) string, set func(*Kubeconfig)) {
	says := func(k *Kubeconfig) bool { return get(k) != "" && get(k) != "{}" }
	switch {
	case get(m.before) == get(m.after):
	case says(m.after):
		to, _ := m.partOf("", says) // partOf returns no error without a file
		set(m.parts[to])
		m.changed[to] = true
	default:
		for i, part := range m.parts {
			if says(part) {
				set(part)
				m.changed[i] = true
			}
		}
	}
}

// unknown writes the fields that this package does not know to the parts that they belong to.
func (m *modification) unknown() {
	for name, raw := range m.after.Unknown {
		if bytes.Equal(m.before.Unknown[name], raw) {
			continue
		}
		to, _ := m.partOf("", func(k *Kubeconfig) bool { return k.Unknown[name] != nil }) // no error without a file
		if m.parts[to].Unknown == nil {
			m.parts[to].Unknown = Unknown{}
		}
		m.parts[to].Unknown[name] = raw
		m.changed[to] = true
	}
	for name := range m.before.Unknown {
		if m.after.Unknown[name] != nil {
			continue
		}
		for i, part := range m.parts {
			m.changed[i] = m.changed[i] || part.Unknown[name] != nil
			delete(part.Unknown, name)
		}
	}
}

// writtenCluster reports placeholders of secrets. They must not be written.
func (c *checker) writtenCluster(p place, n NamedCluster) {
	c.placeholder(p, "certificate-authority-data", n.Cluster.CertificateAuthorityData)
}

// writtenUser reports placeholders of secrets. They must not be written.
func (c *checker) writtenUser(p place, n NamedUser) {
	u := n.User
	c.placeholder(p, "client-certificate-data", u.ClientCertificateData)
	c.placeholder(p, "client-key-data", []byte(u.ClientKeyData))
	c.placeholder(p, "token", []byte(u.Token))
	c.placeholder(p, "password", []byte(u.Password))
	if u.Exec != nil {
		for _, v := range u.Exec.Env {
			c.placeholder(p, "exec.env", []byte(v.Value))
		}
	}
	if u.AuthProvider != nil {
		for _, name := range slices.Sorted(maps.Keys(u.AuthProvider.Config)) {
			c.placeholder(p, "auth-provider.config", []byte(u.AuthProvider.Config[name]))
		}
	}
}
