// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package protobuf_test

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-go/sdk/core/internal/protobuf"
)

// FuzzUnmarshal decodes data as the type with index i, with this package and with generated code. Data that one
// accepts, the other must accept with the same result, except for the errors in protobuf.Stricter. The results must be
// encoded alike, too, and filtering the data must not change the result.
func FuzzUnmarshal(f *testing.F) {
	types := generatedTypes(f)
	leans := make([]reflect.Type, len(types))
	for i, typ := range types {
		leans[i] = leanType(typ, rand.New(rand.NewPCG(uint64(i), 0)), 3)
	}
	for i := 0; i < len(types); i += 20 {
		obj := reflect.New(types[i]).Interface()
		fill(obj, 1)
		data, err := obj.(generated).Marshal()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint16(i), data)
	}
	f.Fuzz(func(t *testing.T, i uint16, data []byte) {
		typ := types[int(i)%len(types)]
		got, want := reflect.New(typ).Interface(), reflect.New(typ).Interface()
		gotErr := protobuf.Unmarshal(data, got)
		if slices.ContainsFunc(protobuf.Stricter(), func(target error) bool { return errors.Is(gotErr, target) }) {
			return // generated code may even panic
		}
		wantErr := want.(generated).Unmarshal(data)
		if (gotErr == nil) != (wantErr == nil) {
			t.Fatalf("%v: Unmarshal = %v, generated %v", typ, gotErr, wantErr)
		}
		compareFiltered(t, leans[int(i)%len(types)], data)
		if gotErr != nil {
			return
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%v (-generated +ours):\n%s", typ, cmp.Diff(want, got))
		}
		gotData, err := protobuf.Append(nil, got)
		if err != nil {
			t.Fatal(err)
		}
		if wantData, err := want.(generated).Marshal(); err != nil || string(gotData) != string(wantData) {
			t.Fatalf("%v: Append = %q, generated %q, %v", typ, gotData, wantData, err)
		}
	})
}
