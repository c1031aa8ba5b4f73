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

// distribute applies each difference between before and after to the part that it belongs to.
func (m *modification) distribute() error {
	if err := m.after.check(m.after.files()); err != nil {
		return err
	}
	var c checker
	var errs []error
	for _, s := range sections() {
		errs = append(errs, m.section(s, &c))
	}
	m.value(func(k *Kubeconfig) string { return k.CurrentContext },
		func(k *Kubeconfig) { k.CurrentContext = m.after.CurrentContext })
	m.value(func(k *Kubeconfig) string { return string(k.Preferences) },
		func(k *Kubeconfig) { k.Preferences = m.after.Preferences })
	m.unknown()
	return errors.Join(errors.Join(errs...), errors.Join(c.errs...))
}

// section applies the differences of one list to the parts.
func (m *modification) section(s section, c *checker) error {
	var errs []error
	for _, e := range s.of(m.after).entries() {
		if err := m.bring(s, e, c); err != nil {
			errs = append(errs, err)
		}
	}
	for _, old := range s.of(m.before).entries() {
		if indexOf(s.of(m.after), old.key()) >= 0 {
			continue
		}
		for i, part := range m.parts {
			m.changed[i] = s.of(part).remove(old.key()) || m.changed[i]
		}
	}
	return errors.Join(errs...)
}

// bring writes an entry to the part that it belongs to, if the entry is new or has changed.
func (m *modification) bring(s section, e entry, c *checker) error {
	p := place{file: e.origin(), stanza: fmt.Sprintf("%s %q", s.kind, e.key())}
	before := s.of(m.before)
	if i := indexOf(before, e.key()); i >= 0 {
		old := before.entries()[i]
		if p.file = old.origin(); e.origin() != "" && p.file != e.origin() {
			return p.errorf("", "delete it, then add it in a second call", "cannot be moved to the file %q", e.origin())
		}
		if same, err := sameContent(old, e); same || err != nil {
			return err
		}
	}
	if e.key() == "" {
		return p.errorf("name", "give it a name", "is missing")
	}
	e.checkWritten(c, p)
	to, err := m.partOf(p.file, func(k *Kubeconfig) bool { return indexOf(s.of(k), e.key()) >= 0 })
	if err != nil {
		return p.errorf("", "leave it empty", "%v", err)
	}
	list := s.of(m.parts[to])
	list.put(indexOf(list, e.key()), e)
	m.changed[to] = true
	return nil
}

// sameContent reports whether two entries have the same content.
func sameContent(a, b entry) (bool, error) {
	first, err := encodeObject(reflect.ValueOf(a).Elem())
	if err != nil {
		return false, fmt.Errorf("%q: %w", a.key(), err)
	}
	second, err := encodeObject(reflect.ValueOf(b).Elem())
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

// checkWritten reports placeholders of secrets. They must not be written.
func (n *NamedCluster) checkWritten(c *checker, p place) {
	c.placeholder(p, "certificate-authority-data", n.Cluster.CertificateAuthorityData)
}

// checkWritten reports placeholders of secrets. They must not be written.
func (n *NamedUser) checkWritten(c *checker, p place) {
	u := &n.User
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

func (*NamedContext) checkWritten(*checker, place) {}
func (*Extension) checkWritten(*checker, place)    {}
