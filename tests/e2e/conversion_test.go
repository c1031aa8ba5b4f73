// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"encoding/pem"
	"errors"
	"net"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/core/conversion"
	"github.com/kube-go/sdk/core/conversion/conversiontest"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/runtime/webhook"
)

// The version v1 has a length in metres and a rank, which v2 does not have. The version v2 has a length with a unit,
// and strands with a twist, which v1 does not have.
type (
	ropeV1 struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`

		Spec ropeSpecV1 `json:"spec"`
	}
	ropeSpecV1 struct {
		Length  int32    `json:"length"`
		Strands []string `json:"strands,omitempty"`
		Rank    *int32   `json:"rank,omitempty"`
	}
	ropeV2 struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`

		Spec ropeSpecV2 `json:"spec"`
	}
	ropeSpecV2 struct {
		Length  string   `json:"length"`
		Strands []strand `json:"strands,omitempty"`
	}
	strand struct {
		Name  string `json:"name"`
		Twist string `json:"twist,omitempty"`
	}
)

const ropeGroup = "conversion.e2e.example.com"

func ropes(version string) kube.Resource {
	return kube.Resource{Group: ropeGroup, Version: version, Kind: "Rope", Plural: "ropes", Namespaced: true}
}

func (*ropeV1) KubeResource() kube.Resource { return ropes("v1") }
func (*ropeV2) KubeResource() kube.Resource { return ropes("v2") }

func ropeUp(in *ropeV1) (*ropeV2, error) {
	out := &ropeV2{Spec: ropeSpecV2{Length: strconv.Itoa(int(in.Spec.Length)) + "m"}}
	for _, name := range in.Spec.Strands {
		out.Spec.Strands = append(out.Spec.Strands, strand{Name: name})
	}
	return out, nil
}

func ropeDown(in *ropeV2) (*ropeV1, error) {
	metres, err := strconv.ParseInt(strings.TrimSuffix(in.Spec.Length, "m"), 10, 32)
	if err != nil {
		return nil, errors.New("spec.length: must be an integer of metres, such as 3m")
	}
	out := &ropeV1{Spec: ropeSpecV1{Length: int32(metres)}}
	for _, s := range in.Spec.Strands {
		out.Spec.Strands = append(out.Spec.Strands, s.Name)
	}
	return out, nil
}

func ropeConverter(t testing.TB) *conversion.Converter {
	t.Helper()
	spokes := []conversion.Spoke[ropeV2]{conversion.Between(ropeUp, ropeDown)}
	c, err := conversion.NewConverter(spokes, &conversion.ConverterOptions{KeepLost: true})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// ropeDefinition returns the definition of both versions. The storage version is v1.
func ropeDefinition(t *testing.T, conversion map[string]any) *unstructured.Unstructured {
	t.Helper()
	text := func(more ...any) map[string]any {
		m := map[string]any{"type": "string"}
		for i := 0; i < len(more); i += 2 {
			m[more[i].(string)] = more[i+1]
		}
		return m
	}
	object := func(properties map[string]any) map[string]any {
		return map[string]any{"type": "object", "properties": properties}
	}
	version := func(name string, storage bool, spec map[string]any) map[string]any {
		return map[string]any{"name": name, "served": true, "storage": storage, "schema": map[string]any{
			"openAPIV3Schema": object(map[string]any{"spec": object(spec)}),
		}}
	}
	definition := map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "ropes." + ropeGroup},
		"spec": map[string]any{
			"group": ropeGroup, "scope": "Namespaced", "names": map[string]any{"kind": "Rope", "plural": "ropes"},
			"conversion": conversion,
			"versions": []any{
				version("v1", true, map[string]any{
					"length":  map[string]any{"type": "integer", "format": "int32"},
					"strands": map[string]any{"type": "array", "items": text()},
					"rank":    map[string]any{"type": "integer", "format": "int32"},
				}),
				version("v2", false, map[string]any{
					"length":  text("enum", []any{"1m", "3m", "40m"}),
					"strands": map[string]any{"type": "array", "items": object(map[string]any{"name": text(), "twist": text()})},
				}),
			},
		},
	}
	crd := new(unstructured.Unstructured)
	data, err := wire.MarshalJSON(definition) // encodes the certificate in base64
	if err == nil {
		err = wire.UnmarshalJSON(data, &crd.Object)
	}
	if err != nil {
		t.Fatal(err)
	}
	return crd
}

// serveConversions serves the conversion webhook to API servers on this machine. It returns spec.conversion of the
// definition.
func serveConversions(t *testing.T, c *kube.Client) map[string]any {
	t.Helper()
	server, err := url.Parse(c.Server())
	if err != nil {
		t.Fatal(err)
	}
	if ip := net.ParseIP(server.Hostname()); server.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		t.Skip("needs an API server that can reach a webhook in this process, which " + c.Server() + " may not")
	}
	hook := httptest.NewTLSServer(webhook.Conversion(ropeConverter(t).Convert, nil))
	t.Cleanup(hook.Close)
	return map[string]any{"strategy": "Webhook", "webhook": map[string]any{
		"conversionReviewVersions": []any{"v1"},
		"clientConfig": map[string]any{
			"url":      hook.URL,
			"caBundle": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: hook.Certificate().Raw}),
		},
	}}
}

// TestConversionKeepsFieldsOfOtherVersions checks that the fields that only one version has survive writes in the other
// version, on a server that stores the version with fewer fields.
func TestConversionKeepsFieldsOfOtherVersions(t *testing.T) {
	c := connect(t, nil)
	crd := ropeDefinition(t, serveConversions(t, c))
	if err := ropeConverter(t).Covers(crd); err != nil {
		t.Fatal(err)
	}
	defineKind(t, c, crd)
	ns := newNamespace(t, c)
	v1, v2 := kube.Namespaced[ropeV1](c, ns), kube.Namespaced[ropeV2](c, ns)
	t.Cleanup(func() { deleteNow(t, v1, "rope") }) // while the webhook is running

	rope := &ropeV2{ObjectMeta: metav1.ObjectMeta{Name: "rope"}, Spec: ropeSpecV2{
		Length: "3m", Strands: []strand{{"a", "left"}, {"b", "right"}},
	}}
	if _, err := v2.Create(limit(t), rope, nil); err != nil {
		t.Fatal(err)
	}
	expect := func(step string, want ropeSpecV2) {
		t.Helper()
		got, err := v2.Get(limit(t), "rope", nil)
		if err != nil {
			t.Fatalf("%s: %v", step, err)
		}
		if diff := cmp.Diff(want, got.Spec); diff != "" {
			t.Errorf("%s, spec in v2 (-want +got):\n%s", step, diff)
		}
	}
	expect("after create", rope.Spec)

	old, err := v1.Get(limit(t), "rope", nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(ropeSpecV1{Length: 3, Strands: []string{"a", "b"}}, old.Spec); diff != "" {
		t.Errorf("spec in v1 (-want +got):\n%s", diff)
	}
	if old.Annotations[ropeGroup+"/conversion-v2"] == "" {
		t.Error("v1 has no annotation with the fields of v2")
	}
	old.Labels = map[string]string{"touched": "yes"}
	if _, err := v1.Update(limit(t), old, nil); err != nil {
		t.Fatal(err)
	}
	expect("after an update of a label in v1", rope.Spec)

	longer := kube.MergePatch(map[string]any{"spec": map[string]any{"length": 40, "rank": 7}})
	if _, err := v1.Patch(limit(t), "rope", longer, nil); err != nil {
		t.Fatal(err)
	}
	expect("after a patch of the length in v1", ropeSpecV2{Length: "40m", Strands: rope.Spec.Strands})

	// A forced apply in v2 keeps the fields that only v1 has.
	if _, err := v2.Apply(limit(t), &ropeV2{ObjectMeta: metav1.ObjectMeta{Name: "rope"}, Spec: ropeSpecV2{Length: "1m"}},
		&kube.ApplyOptions{FieldManager: "e2e", Force: true}); err != nil {
		t.Fatal(err)
	}
	expect("after an apply in v2", ropeSpecV2{Length: "1m", Strands: rope.Spec.Strands})
	old, err = v1.Get(limit(t), "rope", nil)
	if err != nil || old.Spec.Length != 1 || old.Spec.Rank == nil || *old.Spec.Rank != 7 {
		t.Errorf("spec in v1 = %+v, %v; want length 1 and rank 7", old.Spec, err)
	}
	now, err := v2.Get(limit(t), "rope", nil)
	if err != nil {
		t.Fatal(err)
	}
	if now.Annotations[ropeGroup+"/conversion-v2"] != "" || now.Annotations[ropeGroup+"/conversion-v1"] == "" {
		t.Errorf("annotations in v2 = %v, want only one with the fields of v1", now.Annotations)
	}
}

// TestConversionRoundTripsRandomObjects checks that objects that the definition permits are unchanged after a
// conversion to the other version and back.
func TestConversionRoundTripsRandomObjects(t *testing.T) {
	t.Parallel()
	crd := ropeDefinition(t, map[string]any{"strategy": "None"})
	conversiontest.RoundTrip(t, ropeConverter(t), &conversiontest.Options{Definition: crd})
}
