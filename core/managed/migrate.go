// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/kube-go/sdk/core/request"
)

// MigrateOptions are the options of [Migrate].
type MigrateOptions struct {
	// Subresource is the subresource through which the fields were written, such as "status". Default: the object
	// itself.
	Subresource string
}

// Migrate returns the JSON patch that makes the manager to own, by server-side apply, the fields that the managers from
// own by updates. Send it before the first apply to an object that was created or updated. Otherwise a field that the
// apply leaves out is not removed, since the manager that wrote it still owns it. From may contain to. Migrate returns
// no operations if there is nothing to migrate.
//
// The patch has the object's resource version, so it fails with core.ErrConflict if the object has changed. Get the
// object again then.
func Migrate(obj metav1.Object, from []string, to string, o *MigrateOptions) ([]request.Op, error) {
	subresource := ""
	if o != nil {
		subresource = o.Subresource
	}
	entries := obj.GetManagedFields()
	var err error
	switch {
	case len(from) == 0:
		err = errors.New("from is empty; name the managers whose updates wrote the fields, as in metadata.managedFields")
	case to == "":
		err = errors.New("to is empty; name the field manager that applies")
	case len(entries) == 0:
		err = errNoEntries
	case obj.GetResourceVersion() == "":
		err = errors.New("the object has no metadata.resourceVersion; use one that the server returned")
	default:
		entries, err = migrate(entries, from, to, subresource)
	}
	if err != nil {
		return nil, fmt.Errorf("migrate fields to %q: %w", to, err)
	}
	if entries == nil {
		return nil, nil
	}
	return []request.Op{
		// The server refuses a failed test as invalid, but another resource version as a conflict.
		{Op: "replace", Path: "/metadata/resourceVersion", Value: obj.GetResourceVersion()},
		{Op: "replace", Path: "/metadata/managedFields", Value: entries},
	}, nil
}

// migrate returns the entries, with those of the managers merged into one. It returns nil if there is nothing to
// migrate.
func migrate(
	entries []metav1.ManagedFieldsEntry,
	from []string,
	to, subresource string,
) ([]metav1.ManagedFieldsEntry, error) {
	isOld := func(e metav1.ManagedFieldsEntry) bool {
		return isOf(e, metav1.ManagedFieldsOperationUpdate, subresource, from...)
	}
	isNew := func(e metav1.ManagedFieldsEntry) bool {
		return isOf(e, metav1.ManagedFieldsOperationApply, subresource, to)
	}
	if !slices.ContainsFunc(entries, isOld) {
		return nil, nil
	}
	all := fieldpath.NewSet()
	merged := metav1.ManagedFieldsEntry{
		Manager: to, Operation: metav1.ManagedFieldsOperationApply, Subresource: subresource, FieldsType: "FieldsV1",
	}
	at := slices.IndexFunc(entries, func(e metav1.ManagedFieldsEntry) bool { return isOld(e) || isNew(e) })
	rest := make([]metav1.ManagedFieldsEntry, 0, len(entries))
	for _, e := range entries {
		if !isOld(e) && !isNew(e) {
			rest = append(rest, e)
			continue
		}
		if merged.APIVersion != "" && merged.APIVersion != e.APIVersion {
			return nil, fmt.Errorf(
				"managers own fields of %s and of %s, which can't be merged; name those of one version in from",
				merged.APIVersion,
				e.APIVersion,
			)
		}
		merged.APIVersion = e.APIVersion
		if e.Time != nil && (merged.Time == nil || merged.Time.Before(e.Time)) {
			merged.Time = e.Time
		}
		fields, err := fieldsOf(e)
		if err != nil {
			return nil, err
		}
		all = all.Union(fields)
	}
	raw, err := all.ToJSON()
	if err != nil {
		return nil, err
	}
	merged.FieldsV1 = metav1.NewFieldsV1(string(raw))
	return slices.Insert(rest, at, merged), nil
}
