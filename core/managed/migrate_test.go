// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core/managed"
	"github.com/kube-go/sdk/core/request"
)

// owned is a short form of an entry of managedFields.
type owned struct {
	manager   string
	operation metav1.ManagedFieldsOperationType
	version   string
	sub       string
	minute    int
	fields    string
}

func entries(short []owned) (all []metav1.ManagedFieldsEntry) {
	for _, o := range short {
		at := metav1.NewTime(time.Date(2026, 1, 2, 3, o.minute, 0, 0, time.UTC))
		all = append(all, metav1.ManagedFieldsEntry{
			Manager: o.manager, Operation: o.operation, APIVersion: o.version, Subresource: o.sub, Time: &at,
			FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(o.fields),
		})
	}
	return all
}

func TestMigrateTurnsUpdatesIntoAnApply(t *testing.T) {
	const update, apply = metav1.ManagedFieldsOperationUpdate, metav1.ManagedFieldsOperationApply
	for _, tc := range []struct {
		name string
		in   []owned
		from []string
		o    *managed.MigrateOptions
		want []owned // nil: no change
	}{
		{
			name: "updates of one manager become its apply",
			in:   []owned{{"other", update, "v1", "", 0, `{"f:x":{}}`}, {"web", update, "v1", "", 1, `{"f:a":{}}`}, {"last", apply, "v1", "", 2, `{}`}},
			from: []string{"web"},
			want: []owned{{"other", update, "v1", "", 0, `{"f:x":{}}`}, {"web", apply, "v1", "", 1, `{"f:a":{}}`}, {"last", apply, "v1", "", 2, `{}`}},
		},
		{
			name: "updates of several managers are merged into the apply",
			in: []owned{
				{"kubectl", update, "v1", "", 3, `{"f:a":{"f:b":{}},"f:l":{".":{},"v:1":{}}}`},
				{"web", apply, "v1", "", 1, `{"f:a":{".":{},"f:c":{}}}`},
				{"web", update, "v1", "", 2, `{"f:d":{}}`},
			},
			from: []string{"kubectl", "web"},
			want: []owned{{"web", apply, "v1", "", 3, `{"f:a":{".":{},"f:b":{},"f:c":{}},"f:d":{},"f:l":{".":{},"v:1":{}}}`}},
		},
		{
			name: "entries of a subresource are kept",
			in:   []owned{{"web", update, "v1", "status", 0, `{"f:status":{}}`}, {"web", update, "v1", "", 0, `{"f:a":{}}`}},
			from: []string{"web"},
			want: []owned{{"web", update, "v1", "status", 0, `{"f:status":{}}`}, {"web", apply, "v1", "", 0, `{"f:a":{}}`}},
		},
		{
			name: "entries of a subresource are migrated separately",
			in:   []owned{{"web", update, "v1", "status", 0, `{"f:status":{}}`}, {"web", update, "v1", "", 0, `{"f:a":{}}`}},
			from: []string{"web"}, o: &managed.MigrateOptions{Subresource: "status"},
			want: []owned{{"web", apply, "v1", "status", 0, `{"f:status":{}}`}, {"web", update, "v1", "", 0, `{"f:a":{}}`}},
		},
		{
			name: "a second migration changes nothing",
			in:   []owned{{"web", apply, "v1", "", 0, `{"f:a":{}}`}},
			from: []string{"web", "kubectl"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			obj := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "7", ManagedFields: entries(tc.in)}}
			before := obj.DeepCopy()
			ops, err := managed.Migrate(obj, tc.from, "web", tc.o)
			if err != nil {
				t.Fatal(err)
			}
			var want []request.Op
			if tc.want != nil {
				want = []request.Op{
					{Op: "replace", Path: "/metadata/resourceVersion", Value: "7"},
					{Op: "replace", Path: "/metadata/managedFields", Value: entries(tc.want)},
				}
			}
			if diff := cmp.Diff(want, ops); diff != "" {
				t.Errorf("Migrate (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, obj); diff != "" {
				t.Errorf("Migrate changed its argument (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMigrateRejectsInvalidArguments(t *testing.T) {
	const update = metav1.ManagedFieldsOperationUpdate
	one := []owned{{"web", update, "v1", "", 0, `{"f:a":{}}`}}
	for _, tc := range []struct {
		name    string
		in      []owned
		version string
		from    []string
		to      string
		wantErr string
	}{
		{"no manager to migrate from", one, "7", nil, "web", "from is empty"},
		{"no manager to migrate to", one, "7", []string{"web"}, "", "to is empty"},
		{"an object from a cache", nil, "7", []string{"web"}, "web", "get it from the server"},
		{"an object without a resource version", one, "", []string{"web"}, "web", "the object has no metadata.resourceVersion"},
		{
			"fields of two versions", append(one, owned{"old", update, "v1beta1", "", 0, `{"f:b":{}}`}), "7",
			[]string{"web", "old"},
			"web",
			`migrate fields to "web": managers own fields of v1 and of v1beta1, which can't be merged; name those of one version in from`,
		},
		{"invalid fields", []owned{{"web", update, "v1", "", 0, `[]`}}, "7", []string{"web"}, "web", `managed fields of "web": want an object`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			obj := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: tc.version, ManagedFields: entries(tc.in)}}
			if _, err := managed.Migrate(obj, tc.from, tc.to, nil); err == nil || !strings.Contains(err.Error(), tc.wantErr) {
				t.Errorf("error %v, want %s", err, tc.wantErr)
			}
		})
	}
}
