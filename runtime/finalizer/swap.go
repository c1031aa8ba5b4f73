// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package finalizer

import (
	"encoding/json"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
)

// swap returns a patch that replaces the finalizers by next if they are still those of obj.
//
// It is a JSON patch, whose tests name exactly what must not have changed. A merge patch could also replace the list,
// but only the resource version could guard it, so it would fail after every unrelated write, such as that of a status.
// A strategic merge patch would edit the list without a guard, and servers support it for built-in kinds only.
func swap(obj core.Object, next []string) request.Patch {
	const path = "/metadata/finalizers"
	ops := []request.Op{
		{Op: "test", Path: "/metadata/uid", Value: obj.GetUID()},
		{Op: "test", Path: path, Value: orNull(obj.GetFinalizers())},
	}
	if len(next) == 0 {
		ops = append(ops, request.Op{Op: "remove", Path: path})
	} else {
		ops = append(ops, request.Op{Op: "add", Path: path, Value: next})
	}
	return request.JSONPatch(ops...)
}

// orNull returns the list, or JSON's null, which a test treats like a missing field.
func orNull(list []string) any {
	if len(list) == 0 {
		return json.RawMessage("null")
	}
	return list
}
