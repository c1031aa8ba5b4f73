// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/kube-go/sdk/core"
)

// MarshalApply encodes an object as the body of a server-side apply, in which every field that is present is claimed.
// A struct has no way to leave its status out, so a status that is the zero value is left out here.
func MarshalApply(obj core.Object, res core.Resource) ([]byte, error) {
	body, err := Marshal(obj, res, JSON)
	if err != nil || !hasZeroStatus(obj) {
		return body, err
	}
	out := append(make([]byte, 0, len(body)), '{')
	err = eachMember(body, func(m member) error {
		if string(m.name) == "status" {
			return nil
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, body[m.start:m.end]...)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", res.Kind, err)
	}
	return append(out, '}'), nil
}

// hasZeroStatus reports whether obj is a struct whose field status is the zero value.
func hasZeroStatus(obj core.Object) bool {
	v := reflect.Indirect(reflect.ValueOf(obj))
	if v.Kind() != reflect.Struct {
		return false
	}
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		if name == "status" {
			return v.Field(i).IsZero()
		}
	}
	return false
}
