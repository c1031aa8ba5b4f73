// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-go/sdk/core/managed"
	"github.com/kube-go/sdk/core/wire"
)

func TestFields(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		want     []string
		encoded  string // empty: as in
	}{
		{name: "nothing is owned", in: `{}`},
		{name: "a field is owned", in: `{"f:spec":{"f:replicas":{}}}`, want: []string{".spec.replicas"}},
		{
			name: "a map is owned together with an entry",
			in:   `{"f:metadata":{"f:labels":{".":{},"f:app.kubernetes.io/name":{}}}}`,
			want: []string{".metadata.labels", ".metadata.labels.app.kubernetes.io/name"},
		},
		{
			name: "list elements are owned by their keys",
			in:   `{"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:name":{}}}}`,
			want: []string{`.ports[port=80,protocol="TCP"]`, `.ports[port=80,protocol="TCP"].name`},
		},
		{
			name:    "the key is spelled in another way",
			in:      `{"f:ports":{"k:{ \"protocol\":\"TCP\", \"port\":80}":{}}}`,
			want:    []string{`.ports[port=80,protocol="TCP"]`},
			encoded: `{"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{}}}`,
		},
		{
			name: "values of a set are owned",
			in:   `{"f:metadata":{"f:finalizers":{".":{},"v:\"a/b\"":{},"v:1":{}}}}`,
			want: []string{".metadata.finalizers", `.metadata.finalizers[="a/b"]`, ".metadata.finalizers[=1]"},
		},
		{name: "an index is owned", in: `{"f:list":{"i:0":{}}}`, want: []string{".list[0]"}},
		{name: "a point in an empty set says nothing new", in: `{"f:a":{".":{}}}`, want: []string{".a"}, encoded: `{"f:a":{}}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			fields, err := managed.Parse([]byte(tc.in))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for path := range fields.All() {
				got = append(got, path.String())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("All (-want +got):\n%s", diff)
			}
			want := tc.encoded
			if want == "" {
				want = tc.in
			}
			if got, err := wire.MarshalJSON(fields); err != nil || string(got) != want {
				t.Errorf("MarshalJSON = %s, %v, want %s", got, err, want)
			}
		})
	}
}

func TestFieldsStopEarly(t *testing.T) {
	fields, err := managed.Parse([]byte(`{"f:a":{"f:b":{}},"f:c":{}}`))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for range fields.All() {
		n++
		break
	}
	if n != 1 {
		t.Errorf("%d paths after a break, want 1", n)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, tc := range []struct{ name, in, wantErr string }{
		{"what is no JSON", `{`, "managed fields: "},
		{"what is no object", `[]`, "managed fields: "},
		{"an element of no kind", `{"spec":{}}`, `"spec" starts with none of f: k: v: i:`},
		{"an element of an unknown kind", `{"f:a":{"x:1":{}}}`, `in ".a": "x:1" starts with none of f: k: v: i:`},
		{"a key that is no object", `{"k:1":{}}`, "key 1"},
		{"a key without fields", `{"k:{}":{}}`, "key {}: names no field"},
		{"a value that is no JSON", `{"v:x":{}}`, "value x"},
		{"an index that is no number", `{"i:-1":{}}`, `"i:-1" starts with none`},
		{"a field with a value", `{"f:a":{"f:b":1}}`, `in ".a": f:b must have an object`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := managed.Parse([]byte(tc.in)); err == nil || !strings.Contains(err.Error(), tc.wantErr) {
				t.Errorf("Parse(%s): error %v, want %q", tc.in, err, tc.wantErr)
			}
		})
	}
}

// FuzzParse holds that a set is the same after it was written and read again.
func FuzzParse(f *testing.F) {
	f.Add(`{"f:metadata":{"f:labels":{".":{},"f:a":{}}},"f:spec":{"f:ports":{"k:{\"port\":80}":{".":{},"f:port":{}}}}}`)
	f.Add(`{"f:l":{"v:\"x\"":{},"v:1.0":{},"i:1":{}}}`)
	f.Add(`{"k:{\"a\":{\"b\":null}}":{},"k:{ \"a\":{\"b\":null}}":{"f:":{}}}`)
	f.Fuzz(func(t *testing.T, in string) {
		fields, err := managed.Parse([]byte(in))
		if err != nil {
			return // not an input of the function
		}
		text, err := wire.MarshalJSON(fields)
		if err != nil {
			t.Fatal(err)
		}
		again, err := managed.Parse(text)
		if err != nil {
			t.Fatalf("%s was read, but what is written is not: %v", in, err)
		}
		if twice, err := wire.MarshalJSON(again); err != nil || string(twice) != string(text) {
			t.Errorf("%s becomes %s, then %s, %v", in, text, twice, err)
		}
		if diff := cmp.Diff(paths(fields), paths(again)); diff != "" {
			t.Errorf("the paths of %s (-first +second):\n%s", in, diff)
		}
	})
}

func paths(f *managed.Fields) (all []string) {
	for path := range f.All() {
		all = append(all, path.String())
	}
	return all
}
