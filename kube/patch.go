// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/managed"
	"github.com/kube-go/sdk/core/patch"
)

// What differs between two objects.
type (
	// DiffOptions are the options of [DiffMerge] and [DiffJSON], see [patch.Options].
	DiffOptions = patch.Options
)

// DiffMerge returns the body of the merge patch that makes one object of another, empty when they are equal, see
// [patch.DiffMerge].
func DiffMerge(from, to any, o *DiffOptions) (map[string]any, error) {
	return patch.DiffMerge(from, to, o)
}

// DiffJSON returns the operations of the JSON patch that makes one object of another, none when they are equal, see
// [patch.DiffJSON].
func DiffJSON(from, to any, o *DiffOptions) ([]PatchOp, error) { return patch.DiffJSON(from, to, o) }

// Who owns which field.
type (
	// Conflict is a field that an apply sets and that another manager owns, see [managed.Conflict].
	Conflict = managed.Conflict
	// ExtractOptions are the options of [Extract], see [managed.ExtractOptions].
	ExtractOptions = managed.ExtractOptions
	// MigrateOptions are the options of [MigrateOwnership], see [managed.MigrateOptions].
	MigrateOptions = managed.MigrateOptions
)

// Conflicts returns the fields that were in the way of an apply, with their owners, see [managed.Conflicts].
func Conflicts(err error) []Conflict { return managed.Conflicts(err) }

// Extract returns what a manager has applied of an object: what to change and apply again, see [managed.Extract].
func Extract[K any, P core.ObjectPtr[K]](obj *K, manager string, o *ExtractOptions) (*K, error) {
	return managed.Extract[K, P](obj, manager, o)
}

// FieldOwners returns who owns a field, such as .spec.replicas, see [managed.Owners].
func FieldOwners(obj metav1.Object, field string) ([]metav1.ManagedFieldsEntry, error) {
	return managed.Owners(obj, field)
}

// MigrateOwnership returns the JSON patch that makes what some managers own by updates what one owns by apply, see
// [managed.Migrate].
func MigrateOwnership(obj metav1.Object, from []string, to string, o *MigrateOptions) ([]PatchOp, error) {
	return managed.Migrate(obj, from, to, o)
}
