// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package abi_test

import (
	"bytes"
	"testing"

	"github.com/kube-go/sdk/core/abi"
)

func TestFramesAreCutAsTheyWereAppended(t *testing.T) {
	data := abi.AppendFrame(abi.AppendFrame(nil, []byte("one")), nil)
	one, rest, ok := abi.CutFrame(data)
	if !ok || string(one) != "one" {
		t.Fatalf("first = %q, %v", one, ok)
	}
	two, rest, ok := abi.CutFrame(rest)
	if !ok || len(two) != 0 || len(rest) != 0 {
		t.Fatalf("second = %q, rest %q, %v", two, rest, ok)
	}
}

func FuzzFrame(f *testing.F) {
	f.Add([]byte("\x01\x00\x00\x00ab"))
	f.Add([]byte("\xff\xff\xff\xffab"))
	f.Fuzz(func(t *testing.T, data []byte) {
		message, rest, ok := abi.CutFrame(data)
		if ok && !bytes.Equal(append(abi.AppendFrame(nil, message), rest...), data) {
			t.Errorf("message %q, rest %q", message, rest)
		}
	})
}
