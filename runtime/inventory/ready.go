// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/wait"
)

// conditioned is an object of a kind that has conditions. Since it is a custom type, [wait.Ready] waits for the first
// one, and since it has all fields, the Go type of the declaration need not have those that Ready reads.
type conditioned struct{ unstructured.Unstructured }

// isReady is the default of [Declaration.Ready]. The sample is the declared object.
func isReady(sample core.Object, u *unstructured.Unstructured) error {
	if hasConditions(sample) {
		return wait.Ready(&conditioned{*u})
	}
	return wait.Ready(u)
}

// hasConditions reports whether the Go type of an object shows that its kind has conditions, by the rules of
// [wait.Ready]: it is a custom type, and status.conditions survives being decoded into it.
func hasConditions(sample core.Object) bool {
	t := reflect.TypeOf(sample).Elem()
	if _, dynamic := sample.(*unstructured.Unstructured); dynamic || strings.HasPrefix(t.PkgPath(), "k8s.io/api/") {
		return false
	}
	obj := reflect.New(t).Interface()
	if err := wire.UnmarshalJSON([]byte(`{"status":{"conditions":[{}]}}`), obj); err != nil {
		return true // it declares them with another type than a list
	}
	data, err := wire.MarshalJSON(obj)
	var content map[string]any
	if err == nil {
		err = wire.UnmarshalJSON(data, &content)
	}
	_, survives, _ := unstructured.NestedFieldNoCopy(content, "status", "conditions")
	return err == nil && survives
}
