// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// errNoEntries is the error for an object without managed fields.
var errNoEntries = errors.New("the object has no metadata.managedFields, as from a cache; get it from the server")

// Owners returns the entries of metadata.managedFields that own a field. The field is spelled as the server prints it,
// such as .spec.containers[name="web"].image, with JSON values in brackets. Entries that own only fields beneath it are
// not included.
func Owners(obj metav1.Object, field string) ([]metav1.ManagedFieldsEntry, error) {
	if !strings.HasPrefix(field, ".") {
		return nil, fmt.Errorf("owners of %q: a field starts with a dot, such as .spec.replicas", field)
	}
	entries := obj.GetManagedFields()
	if len(entries) == 0 {
		return nil, fmt.Errorf("owners of %s: %w", field, errNoEntries)
	}
	var owners []metav1.ManagedFieldsEntry
	for _, entry := range entries {
		fields, err := fieldsOf(entry)
		if err != nil {
			return nil, fmt.Errorf("owners of %s: %w", field, err)
		}
		owns := false
		fields.Iterate(func(path fieldpath.Path) { owns = owns || path.String() == field })
		if owns {
			owners = append(owners, entry)
		}
	}
	return owners, nil
}

// isOf reports whether an entry has the operation, the subresource and one of the managers.
func isOf(
	entry metav1.ManagedFieldsEntry,
	op metav1.ManagedFieldsOperationType,
	subresource string,
	managers ...string,
) bool {
	return entry.Operation == op && entry.Subresource == subresource && slices.Contains(managers, entry.Manager)
}
