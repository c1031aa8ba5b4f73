// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/kube-go/sdk/core"
)

// MarshalApply encodes an object as the body of a server-side apply, in which every field that is present is claimed:
// a status that was never set, which Go encodes as an empty object, is left out.
func MarshalApply(obj core.Object, res core.Resource) ([]byte, error) {
	body, err := Marshal(obj, res, JSON)
	if err != nil {
		return nil, err
	}
	out := append(make([]byte, 0, len(body)), '{')
	err = eachMember(body, func(name string, value jsontext.Value) error {
		if name != "status" || string(value) != "{}" {
			out = appendMember(out, name, value)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", res.Kind, err)
	}
	return append(out, '}'), nil
}
