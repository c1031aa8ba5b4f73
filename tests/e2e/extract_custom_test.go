// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/core/managed"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/kube"
)

// gardenSchema has lists and maps of every type that field ownership distinguishes, some of them nested.
const gardenSchema = `{"type":"object","properties":{"spec":{"type":"object","properties":{
	"tags":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}},
	"sizes":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"integer"}},
	"args":{"type":"array","x-kubernetes-list-type":"atomic","items":{"type":"string"}},
	"plain":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"}}}},
	"whole":{"type":"object","x-kubernetes-map-type":"atomic","additionalProperties":{"type":"string"}},
	"notes":{"type":"object","additionalProperties":{"type":"string"}},
	"free":{"type":"object","x-kubernetes-preserve-unknown-fields":true},
	"ports":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["number","protocol"],
		"items":{"type":"object","required":["number"],"properties":{
			"number":{"type":"integer"},"protocol":{"type":"string","default":"TCP"},"comment":{"type":"string"}}}},
	"beds":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],
		"items":{"type":"object","required":["name"],"properties":{"name":{"type":"string"},
			"soil":{"type":"string"},"colors":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}},
			"plants":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["kind"],
				"items":{"type":"object","required":["kind"],"properties":{"kind":{"type":"string"},"count":{"type":"integer"}}}}}}}
}}}}`

// gardens returns the configurations that several managers apply to one object in this order.
func gardens() []struct{ manager, text string } {
	return []struct{ manager, text string }{
		{"owner", `{"spec":{"tags":["a","b"],"sizes":[1,3],"args":["-v","-v","x"],"plain":[{"name":"p"},{}],"whole":{"k":"v"},
		"notes":{"one":"1"},"free":{"x":{"y":[1,{"z":null}]}},
		"ports":[{"number":80,"protocol":"TCP","comment":"web"},{"number":80,"protocol":"UDP"},{"number":53,"protocol":"UDP"}],
		"beds":[{"name":"north","soil":"clay","colors":["red","white"],"plants":[{"kind":"rose","count":3},{"kind":"fern"}]},{"name":"south"}]}}`},
		{"guest", `{"spec":{"tags":["b","c"],"sizes":[3,2],"notes":{"two":"2"},"free":{"own":true},
		"ports":[{"number":80,"protocol":"TCP"},{"number":443,"protocol":"TCP","comment":"tls"}],
		"beds":[{"name":"north","colors":["blue"],"plants":[{"kind":"fern","count":1},{"kind":"moss"}]},{"name":"east","soil":"sand"}]}}`},
		{"empty", `{"spec":{"notes":{},"beds":[{"name":"north","plants":[]}],"tags":[]}}`},
		{"nothing", `{}`},
	}
}

// TestExtractedConfigurationChangesNothingWhenApplied checks Extract for each of several managers that have applied
// lists and maps of all types: applying the result again changes neither the object nor the ownership of its fields.
func TestExtractedConfigurationChangesNothingWhenApplied(t *testing.T) {
	t.Parallel()
	ctx := limit(t)
	c := connect(t, nil)
	widgets := newWidgets(t, c, "extract").In(newNamespace(t, c))
	var schema map[string]any
	if err := wire.UnmarshalJSON([]byte(gardenSchema), &schema); err != nil {
		t.Fatal(err)
	}
	setSchema := func(crd *unstructured.Unstructured) error {
		versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
		if err != nil {
			return err
		}
		versions[0].(map[string]any)["schema"] = map[string]any{"openAPIV3Schema": schema}
		return unstructured.SetNestedSlice(crd.Object, versions, "spec", "versions")
	}
	_, err := kube.Dynamic(c, kube.CRDResource()).Modify(ctx, widgets.Resource().String(), setSchema, nil)
	if err != nil {
		t.Fatal(err)
	}
	garden := func(text string) *unstructured.Unstructured {
		obj := &unstructured.Unstructured{}
		if err := wire.UnmarshalJSON([]byte(text), &obj.Object); err != nil {
			t.Fatal(err)
		}
		obj.SetName("garden")
		return obj
	}
	eventually(t, "the schema is served", func(ctx context.Context) error {
		o := &kube.CreateOptions{DryRun: true, FieldValidation: metav1.FieldValidationStrict}
		_, err := widgets.Create(ctx, garden(gardens()[0].text), o)
		return err
	})
	var stored *unstructured.Unstructured
	for _, g := range gardens() {
		if stored, err = widgets.Apply(ctx, garden(g.text), &kube.ApplyOptions{FieldManager: g.manager}); err != nil {
			t.Fatalf("%s: %v", g.manager, err)
		}
	}
	for _, g := range gardens() {
		mine, err := managed.Extract(stored, g.manager, nil)
		if err != nil {
			t.Errorf("%s: %v", g.manager, err)
			continue
		}
		again, err := widgets.Apply(ctx, mine, &kube.ApplyOptions{FieldManager: g.manager})
		if err != nil {
			t.Errorf("%s: %v", g.manager, err)
			continue
		}
		if diff := cmp.Diff(claims(stored), claims(again)); diff != "" {
			t.Errorf("%s: owned fields (-before +after):\n%s", g.manager, diff)
		}
		if diff := cmp.Diff(stored.Object["spec"], again.Object["spec"]); diff != "" {
			t.Errorf("%s: spec (-before +after):\n%s", g.manager, diff)
		}
	}
}

// claims returns the owned fields of an object by manager.
func claims(obj metav1.Object) map[string]string {
	all := map[string]string{}
	for _, entry := range obj.GetManagedFields() {
		all[entry.Manager] = string(entry.FieldsV1.GetRawBytes())
	}
	return all
}
