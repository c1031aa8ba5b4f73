// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"bytes"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
)

func TestItemErrorHasTheReadableMetadata(t *testing.T) {
	whole := wire.Head{Ref: core.ObjectRef{Namespace: "prod", Name: "a"}, UID: "u", ResourceVersion: "7"}
	tests := []struct {
		name     string
		encoding wire.Encoding
		data     string
		want     wire.Head
		wantText string
	}{
		{"JSON", wire.JSON, `{"metadata":{"name":"a","namespace":"prod","uid":"u","resourceVersion":"7"},"spec":1}`, whole, "prod/a: broken"},
		{"protobuf", wire.Protobuf, "\x0a\x0f\x0a\x01a\x1a\x04prod\x2a\x01u\x32\x017\x12\x01\xff", whole, "prod/a: broken"},
		{"metadata that ends early", wire.Protobuf, "\x0a\x0a\x0a\x01a\x1a\x04prod\x2a", wire.Head{Ref: whole.Ref}, "prod/a: broken"},
		{"metadata with other errors", wire.JSON, `{"metadata":{"name":"a","labels":7,"uid":9}}`, wire.Head{Ref: core.ObjectRef{Name: "a"}}, "a: broken"},
		{"no metadata", wire.JSON, `{"spec":1}`, wire.Head{}, "an object without a name: broken"},
		{"random bytes", wire.Protobuf, "\xff", wire.Head{}, "an object without a name: broken"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := wire.NewPacked(tt.encoding, []byte(tt.data)).ItemError(errBroken)
			if err.Head != tt.want || err.Error() != tt.wantText || !errors.Is(err, errBroken) {
				t.Errorf("ItemError = %q with %+v, want %q with %+v", err, err.Head, tt.wantText, tt.want)
			}
		})
	}
}

// An item that can't be decoded must not affect the others, in any encoding.
func TestInvalidItemDoesNotAffectOthers(t *testing.T) {
	for encoding := range allEncodings() {
		body, err := encodeList(smallList(), encoding)
		if err != nil {
			t.Fatal(err)
		}
		switch encoding { // the node name of the second pod becomes a number
		case wire.JSON:
			body = replaceSecond(body, `"nodeName":"n"`, `"nodeName": 1 `)
		case wire.Protobuf:
			body = replaceSecond(body, "\x52\x01n", "\x50\x80\x01")
		}
		var good, bad []string
		_, err = wire.ReadList(bytes.NewReader(body), encoding.MediaType(), nil, func(p wire.Packed) error {
			pod := new(corev1.Pod)
			if err := p.Decode(pod); err != nil {
				bad = append(bad, p.ItemError(err).Head.Ref.String())
				return nil
			}
			good = append(good, pod.Name)
			return nil
		})
		if err != nil || len(good) != 2 || len(bad) != 1 || bad[0] != "prod/b" {
			t.Errorf("%s: good %q, bad %q, %v; want a and c, and prod/b", encoding, good, bad, err)
		}
	}
}

// replaceSecond replaces the second of three occurrences.
func replaceSecond(body []byte, old, with string) []byte {
	parts := bytes.Split(body, []byte(old))
	return bytes.Join([][]byte{parts[0], []byte(old), parts[1], []byte(with), parts[2], []byte(old), parts[3]}, nil)
}
