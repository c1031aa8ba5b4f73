// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/reflector"
)

// A key that is added twice for one change may run twice, if a worker finishes the first run in between. The other
// tests do not show this reliably.
func TestKeyOccursOnceInAChange(t *testing.T) {
	errNo := errors.New("no")
	a, b := core.ObjectRef{Name: "a"}, core.ObjectRef{Name: "b"}
	refs := eachState(func(p wire.Packed) ([]core.ObjectRef, error) {
		if string(p.Bytes()) == "old" {
			return []core.ObjectRef{b, a, b}, errNo
		}
		return []core.ObjectRef{a, a}, nil
	})
	tests := []struct {
		name string
		in   reflector.Change
		want []core.ObjectRef
		err  error
	}{
		{"a new object", reflector.Change{New: state("new")}, []core.ObjectRef{a}, nil},
		{"a changed object", reflector.Change{Old: state("old"), New: state("new")}, []core.ObjectRef{b, a}, errNo},
		{"a deleted object", reflector.Change{Old: state("old")}, []core.ObjectRef{b, a}, errNo},
		{"a bookmark", reflector.Change{Type: core.Bookmark}, nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := refs(tt.in)
			if diff := cmp.Diff(tt.want, got); diff != "" || !errors.Is(err, tt.err) {
				t.Errorf("error %v, (-want +got):\n%s", err, diff)
			}
		})
	}
}

func state(s string) reflector.State { return reflector.StateOf(wire.NewPacked(wire.JSON, []byte(s))) }
