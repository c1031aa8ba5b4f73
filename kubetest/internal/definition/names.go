// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package definition

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
)

// The conditions of a definition, see
// https://kubernetes.io/docs/reference/kubernetes-api/extend-resources/custom-resource-definition-v1/.
const (
	namesAccepted = "NamesAccepted"
	established   = "Established"
)

// Accept returns a definition with the status that the controllers of a server set: the accepted names, and the
// conditions NamesAccepted and Established. Others are the definitions of the server. A name that another definition of
// the same group has is not accepted. When a definition changes or is deleted, call Accept for the others in its group,
// until nothing changes.
func Accept(crd *unstructured.Unstructured, others []*unstructured.Unstructured) (*unstructured.Unstructured, error) {
	m, err := read(crd)
	if err != nil {
		return nil, err
	}
	used, err := usedNames(crd.GetName(), m.Spec.Group, others)
	if err != nil {
		return nil, err
	}
	m.acceptAll(used)
	if m.Status.isTrue(namesAccepted) && !m.Status.isTrue(established) {
		m.Status.set(condition{
			Type: established, Status: "True",
			Reason: "InitialNamesAccepted", Message: "the initial names have been accepted",
		})
	}
	out := crd.DeepCopy()
	return out, m.Status.write(out)
}

// nameSets has the names that the definitions of a group use.
type nameSets struct{ resources, kinds map[string]bool }

func (s *nameSets) add(n names) {
	for _, name := range append([]string{n.Plural, n.Singular}, n.ShortNames...) {
		s.resources[name] = true
	}
	s.kinds[n.Kind], s.kinds[n.ListKind] = true, true
}

// usedNames returns the names that other definitions of a group use.
func usedNames(self, group string, others []*unstructured.Unstructured) (*nameSets, error) {
	used := &nameSets{map[string]bool{}, map[string]bool{}}
	for _, crd := range others {
		other, err := read(crd)
		if err != nil {
			return nil, err
		}
		if crd.GetName() != self && other.Spec.Group == group {
			used.add(other.Status.AcceptedNames)
		}
	}
	return used, nil
}

// acceptAll accepts names until nothing changes: a name that the definition itself releases is free in the next round.
func (m *manifest) acceptAll(used *nameSets) {
	for range 5 { // the number of names; each round accepts at least one
		before := m.Status.AcceptedNames
		if equality.Semantic.DeepEqual(m.Spec.Names, before) {
			return
		}
		all := &nameSets{maps.Clone(used.resources), maps.Clone(used.kinds)}
		all.add(before)
		m.accept(all)
		if equality.Semantic.DeepEqual(m.Status.AcceptedNames, before) {
			return
		}
	}
}

// accept moves the names that are not used from the spec to the status. As in a server, the last conflict is reported.
func (m *manifest) accept(used *nameSets) {
	want, have := m.Spec.Names, m.Status.AcceptedNames
	cond := condition{Type: namesAccepted, Status: "True", Reason: "NoConflicts", Message: "no conflicts found"}
	next := &m.Status.AcceptedNames
	one := func(reason, name string, accepted *string, taken map[string]bool) {
		if name != *accepted && taken[name] {
			cond.Status, cond.Reason, cond.Message = "False", reason, inUse(name).Error()
			return
		}
		*accepted = name
	}
	one("PluralConflict", want.Plural, &next.Plural, used.resources)
	one("SingularConflict", want.Singular, &next.Singular, used.resources)
	if err := shortNameConflicts(want.ShortNames, have.ShortNames, used.resources); err != nil {
		cond.Status, cond.Reason, cond.Message = "False", "ShortNamesConflict", err.Error()
	} else {
		next.ShortNames = want.ShortNames
	}
	one("KindConflict", want.Kind, &next.Kind, used.kinds)
	one("ListKindConflict", want.ListKind, &next.ListKind, used.kinds)
	next.Categories = want.Categories
	m.Status.set(cond)
	if m.Status.find(established) == nil {
		m.Status.set(condition{
			Type: established, Status: "False", Reason: "NotAccepted", Message: "not all names are accepted",
		})
	}
}

func shortNameConflicts(want, have []string, taken map[string]bool) error {
	var errs []error
	for _, name := range want {
		if !slices.Contains(have, name) && taken[name] && name != "" {
			errs = append(errs, inUse(name))
		}
	}
	if len(errs) == 0 {
		return nil
	}
	return errors.New(utilerrors.NewAggregate(errs).Error())
}

func inUse(name string) error { return fmt.Errorf("%q is already in use", name) }
