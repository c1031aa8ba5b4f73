// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core/managed"
)

// ownedPod returns a pod whose manager "m" owns the fields by updates.
func ownedPod(fields string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		ResourceVersion: "7", ManagedFields: entries([]owned{{"m", metav1.ManagedFieldsOperationUpdate, "v1", "", 0, fields}}),
	}}
}

func TestFieldPathsAreThoseOfTheServer(t *testing.T) {
	for _, tc := range []struct {
		name, fields string
		owned        []string
		encoded      string // the fields that Migrate writes; empty: unchanged
	}{
		{name: "a field", fields: `{"f:spec":{"f:replicas":{}}}`, owned: []string{".spec.replicas"}},
		{
			name:   "a map with an entry",
			fields: `{"f:metadata":{"f:labels":{".":{},"f:app.kubernetes.io/name":{}}}}`,
			owned:  []string{".metadata.labels", ".metadata.labels.app.kubernetes.io/name"},
		},
		{
			name:   "an item of a list with keys",
			fields: `{"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:name":{}}}}`,
			owned:  []string{`.ports[port=80,protocol="TCP"]`, `.ports[port=80,protocol="TCP"].name`},
		},
		{
			name:    "a key in another order",
			fields:  `{"f:ports":{"k:{ \"protocol\":\"TCP\", \"port\":80}":{}}}`,
			owned:   []string{`.ports[port=80,protocol="TCP"]`},
			encoded: `{"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{}}}`,
		},
		{
			name:    "the values of a set",
			fields:  `{"f:metadata":{"f:finalizers":{".":{},"v:\"a/b\"":{},"v:1":{}}}}`,
			owned:   []string{".metadata.finalizers", `.metadata.finalizers[="a/b"]`, ".metadata.finalizers[=1]"},
			encoded: `{"f:metadata":{"f:finalizers":{".":{},"v:1":{},"v:\"a/b\"":{}}}}`,
		},
		{name: "an index", fields: `{"f:list":{"i:0":{}}}`, owned: []string{".list[0]"}},
		{name: "a dot in an empty set", fields: `{"f:a":{".":{}}}`, owned: []string{".a"}, encoded: `{"f:a":{}}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			pod := ownedPod(tc.fields)
			for _, field := range tc.owned {
				if owners, err := managed.Owners(pod, field); err != nil || len(owners) != 1 {
					t.Errorf("Owners(%s) = %v, %v, want the manager", field, owners, err)
				}
			}
			want := tc.encoded
			if want == "" {
				want = tc.fields
			}
			if got := migrated(t, pod); got != want {
				t.Errorf("Migrate writes the fields %s, want %s", got, want)
			}
		})
	}
}

// migrated returns the fields that Migrate writes.
func migrated(t *testing.T, pod *corev1.Pod) string {
	t.Helper()
	ops, err := managed.Migrate(pod, []string{"m"}, "m", nil)
	if err != nil || len(ops) != 2 {
		t.Fatalf("Migrate = %v, %v, want two operations", ops, err)
	}
	return ops[1].Value.([]metav1.ManagedFieldsEntry)[0].FieldsV1.GetRawString()
}

func TestInvalidFieldsAreRejected(t *testing.T) {
	for _, tc := range []struct{ name, fields, wantErr string }{
		{"invalid JSON", `{`, `managed fields of "m": jsontext: unexpected EOF`},
		{"a value that is not an object", `[]`, `managed fields of "m": want an object`},
		{"bytes that are not UTF-8", "{\"v:\\\"\xff\\\"\":{}}", `managed fields of "m": the JSON text is not valid UTF-8`},
		{"an element without a kind", `{"spec":{}}`, `in "": element "spec": missing colon`},
		{"an element of an unknown kind", `{"f:a":{"x:1":{}}}`, `in ".a": element "x:1": unknown path element type`},
		{"a key that is not an object", `{"k:1":{}}`, `element "k:1": `},
		{"a key without fields", `{"k:{}":{}}`, `element "k:{}": the key has no fields`},
		{"a value that is not JSON", `{"v:x":{}}`, `element "v:x": `},
		{"an index that is not a number", `{"i:x":{}}`, `element "i:x": `},
		{"a field with a value", `{"f:a":{"f:b":1}}`, `in ".a": element "f:b": the value is not an object`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := managed.Owners(ownedPod(tc.fields), ".a"); err == nil || !strings.Contains(err.Error(), tc.wantErr) {
				t.Errorf("Owners with the fields %s: error %v, want %q", tc.fields, err, tc.wantErr)
			}
		})
	}
}

// FuzzMigrate checks that fields stay the same when they are written and read again.
func FuzzMigrate(f *testing.F) {
	f.Add(`{"f:metadata":{"f:labels":{".":{},"f:a":{}}},"f:spec":{"f:ports":{"k:{\"port\":80}":{".":{},"f:port":{}}}}}`)
	f.Add(`{"f:l":{"v:\"x\"":{},"v:1.0":{},"i:1":{}}}`)
	f.Add(`{"k:{\"a\":{\"b\":null}}":{},"k:{ \"a\":{\"b\":null}}":{"f:":{}}}`)
	f.Add("{\"v:\\\"\xff\\\"\":{}}")
	f.Fuzz(func(t *testing.T, fields string) {
		if _, err := managed.Migrate(ownedPod(fields), []string{"m"}, "m", nil); err != nil {
			return // not an input of the function
		}
		once := migrated(t, ownedPod(fields))
		if twice := migrated(t, ownedPod(once)); twice != once {
			t.Errorf("%s becomes %s, then %s", fields, once, twice)
		}
	})
}
