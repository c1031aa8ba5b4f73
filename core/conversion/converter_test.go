// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package conversion_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/conversion"
	"github.com/kube-go/sdk/core/conversion/conversiontest"
	"github.com/kube-go/sdk/core/wire"
)

// Gauges have three versions. The hub, v2, has all fields of the others, and more.
type (
	gaugeV2 struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		Spec              gaugeSpecV2 `json:"spec"`
	}
	gaugeSpecV2 struct {
		Size  sizeV2    `json:"size"`
		Parts []partV2  `json:"parts,omitempty"`
		Limit *limitV2  `json:"limit,omitempty"`
		Notes []string  `json:"notes,omitempty"`
		Old   []oldNote `json:"old,omitempty"`
	}
	sizeV2 struct{ Value, Unit string }
	partV2 struct {
		Name         string `json:"name"` // also the key of the list
		Color, Shape string
	}
	limitV2 struct{ Low, High int32 }
	oldNote struct{ Text string }

	gaugeV1 struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		Spec              gaugeSpecV1 `json:"spec"`
	}
	gaugeSpecV1 struct {
		Size  string   `json:"size"`
		Parts []partV1 `json:"parts,omitempty"`
		Rank  *int32   `json:"rank,omitempty"` // in v1 only
	}
	partV1 struct {
		Name  string `json:"name"`
		Color string
	}

	gaugeV1beta1 struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		Size              string `json:"size"`
	}
)

func gaugeResource(version string) core.Resource {
	return core.Resource{Group: "example.com", Version: version, Kind: "Gauge", Plural: "gauges", Namespaced: true}
}

func (*gaugeV2) KubeResource() core.Resource      { return gaugeResource("v2") }
func (*gaugeV1) KubeResource() core.Resource      { return gaugeResource("v1") }
func (*gaugeV1beta1) KubeResource() core.Resource { return gaugeResource("v1beta1") }

func v1ToV2(in *gaugeV1) (*gaugeV2, error) {
	value, unit, _ := strings.Cut(in.Spec.Size, " ")
	out := &gaugeV2{Spec: gaugeSpecV2{Size: sizeV2{value, unit}}}
	for _, p := range in.Spec.Parts {
		out.Spec.Parts = append(out.Spec.Parts, partV2{Name: p.Name, Color: p.Color})
	}
	return out, nil
}

func v2ToV1(in *gaugeV2) (*gaugeV1, error) {
	out := &gaugeV1{Spec: gaugeSpecV1{Size: strings.TrimSuffix(in.Spec.Size.Value+" "+in.Spec.Size.Unit, " ")}}
	for _, p := range in.Spec.Parts {
		if p.Color == "" && p.Shape == "hidden" {
			continue // cannot be expressed
		}
		out.Spec.Parts = append(out.Spec.Parts, partV1{Name: p.Name, Color: p.Color})
	}
	return out, nil
}

func betaToV2(in *gaugeV1beta1) (*gaugeV2, error) {
	return &gaugeV2{Spec: gaugeSpecV2{Size: sizeV2{Value: in.Size}}}, nil
}

func v2ToBeta(in *gaugeV2) (*gaugeV1beta1, error) {
	return &gaugeV1beta1{Size: in.Spec.Size.Value}, nil
}

func gauges(t testing.TB, o *conversion.ConverterOptions) *conversion.Converter {
	t.Helper()
	c, err := conversion.NewConverter([]conversion.Spoke[gaugeV2]{
		conversion.Between(v1ToV2, v2ToV1), conversion.Between(betaToV2, v2ToBeta),
	}, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// to converts an object to a version.
func to(t testing.TB, c *conversion.Converter, obj core.Object, version string) core.Object {
	t.Helper()
	if k, ok := obj.(core.Describer); ok {
		obj.GetObjectKind().SetGroupVersionKind(k.KubeResource().GroupVersionKind())
	}
	packed, err := wire.Pack(obj, wire.JSON)
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.Convert(packed, "example.com/"+version)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestConverterConvertsByWayOfTheHub(t *testing.T) {
	c := gauges(t, nil)
	meta := metav1.ObjectMeta{
		Name: "g", Namespace: "prod", UID: "1", Labels: map[string]string{"a": "b"},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}},
	}
	in := &gaugeV1{ObjectMeta: meta, Spec: gaugeSpecV1{Size: "3 cm", Parts: []partV1{{"a", "red"}}, Rank: new(int32(1))}}
	up := to(t, c, in, "v2").(*gaugeV2)
	want := &gaugeV2{
		TypeMeta: metav1.TypeMeta{APIVersion: "example.com/v2", Kind: "Gauge"}, ObjectMeta: meta,
		Spec: gaugeSpecV2{Size: sizeV2{"3", "cm"}, Parts: []partV2{{Name: "a", Color: "red"}}},
	}
	if diff := cmp.Diff(want, up); diff != "" {
		t.Errorf("v1 to v2 (-want +got):\n%s", diff)
	}
	beta := to(t, c, in, "v1beta1").(*gaugeV1beta1)
	if beta.Size != "3" || beta.APIVersion != "example.com/v1beta1" || cmp.Diff(meta, beta.ObjectMeta) != "" {
		t.Errorf("v1 to v1beta1, by way of v2: %+v", beta)
	}
	if diff := cmp.Diff([]string{"v2", "v1", "v1beta1"}, c.Versions()); diff != "" {
		t.Errorf("Versions (-want +got):\n%s", diff)
	}
}

func TestConverterKeepsAnObjectOfTheSameVersion(t *testing.T) {
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Gauge", "metadata": map[string]any{"name": "g"}, "unknown": int64(1),
	}}
	if diff := cmp.Diff(obj, to(t, gauges(t, nil), obj, "v1")); diff != "" {
		t.Errorf("the object has changed (-want +got):\n%s", diff)
	}
}

func TestConverterKeepsLabelsAndAnnotationsSetByFunctions(t *testing.T) {
	c, err := conversion.NewConverter([]conversion.Spoke[gaugeV2]{conversion.Between(
		func(*gaugeV1) (*gaugeV2, error) {
			return &gaugeV2{ObjectMeta: metav1.ObjectMeta{Name: "ignored", Labels: map[string]string{}, Annotations: map[string]string{"new": "y"}}}, nil
		}, v2ToV1)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	in := &gaugeV1{ObjectMeta: metav1.ObjectMeta{Name: "g", Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"old": "x"}}}
	out := to(t, c, in, "v2")
	if out.GetName() != "g" || len(out.GetLabels()) > 0 || cmp.Diff(map[string]string{"new": "y"}, out.GetAnnotations()) != "" {
		t.Errorf("metadata is %+v", out)
	}
}

// TestFunctionsThatSetAnnotationsKeepLostFields checks that the converter's own annotations do not depend on those that
// the functions set, also the ones of a third version.
func TestFunctionsThatSetAnnotationsKeepLostFields(t *testing.T) {
	own := func() metav1.ObjectMeta { return metav1.ObjectMeta{Annotations: map[string]string{"own": "x"}} }
	c, err := conversion.NewConverter([]conversion.Spoke[gaugeV2]{
		conversion.Between(func(in *gaugeV1) (*gaugeV2, error) {
			out, err := v1ToV2(in)
			out.ObjectMeta = own()
			return out, err
		}, func(in *gaugeV2) (*gaugeV1, error) {
			out, err := v2ToV1(in)
			out.ObjectMeta = own()
			return out, err
		}),
		conversion.Between(betaToV2, v2ToBeta),
	}, &conversion.ConverterOptions{KeepLost: true})
	if err != nil {
		t.Fatal(err)
	}
	hub := &gaugeV2{ObjectMeta: metav1.ObjectMeta{Name: "g"}, Spec: gaugeSpecV2{
		Size: sizeV2{"3", "cm"}, Parts: []partV2{{"a", "red", "round"}}, Notes: []string{"n"},
	}}
	back := to(t, c, to(t, c, hub, "v1"), "v2").(*gaugeV2)
	if diff := cmp.Diff(hub.Spec, back.Spec); diff != "" {
		t.Errorf("spec by way of v1 (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(own().Annotations, back.Annotations); diff != "" {
		t.Errorf("annotations by way of v1 (-want +got):\n%s", diff)
	}
	beta := to(t, c, hub, "v1beta1")
	back = to(t, c, to(t, c, to(t, c, beta, "v1"), "v1beta1"), "v2").(*gaugeV2)
	if diff := cmp.Diff(hub.Spec, back.Spec); diff != "" {
		t.Errorf("spec by way of v1beta1, v1 and v1beta1 (-want +got):\n%s", diff)
	}
}

func TestConverterRejectsInvalidObjects(t *testing.T) {
	fails := errors.New("odd size")
	c, err := conversion.NewConverter([]conversion.Spoke[gaugeV2]{
		conversion.Between(func(*gaugeV1) (*gaugeV2, error) { return nil, fails }, func(*gaugeV2) (*gaugeV1, error) { return nil, nil }),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, in, to, want string }{
		{"an error of the function", `{"apiVersion":"example.com/v1","kind":"Gauge"}`, "example.com/v2", "odd size"},
		{"a function that returns nothing", `{"apiVersion":"example.com/v2","kind":"Gauge"}`, "example.com/v1", "from v2 to v1: the function has returned nothing"},
		{"an unknown version of the object", `{"apiVersion":"example.com/v3","kind":"Gauge"}`, "example.com/v1", "nothing converts Gauge of example.com/v3; there are the versions v2, v1"},
		{"an unknown version of the result", `{"apiVersion":"example.com/v1","kind":"Gauge"}`, "example.com/v3", "nothing converts Gauge of example.com/v3"},
		{"another kind", `{"apiVersion":"example.com/v1","kind":"Meter"}`, "example.com/v2", "it is a Meter, not a Gauge"},
		{"an object that does not decode", `{"apiVersion":"example.com/v1","kind":"Gauge","spec":[]}`, "example.com/v2", "decode"},
		{"a value that is not an object", `[]`, "example.com/v2", "decode"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := c.Convert(wire.NewPacked(wire.JSON, []byte(tt.in)), tt.to); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Convert = %v, want %q", err, tt.want)
			}
		})
	}
}

// undescribed is a type without a known kind.
type undescribed struct {
	metav1.TypeMeta
	metav1.ObjectMeta
}

func TestNewConverterRejectsInvalidArguments(t *testing.T) {
	good := conversion.Between(v1ToV2, v2ToV1)
	for _, tt := range []struct {
		name   string
		spokes []conversion.Spoke[gaugeV2]
		opts   *conversion.ConverterOptions
		want   string
	}{
		{"an empty spoke", []conversion.Spoke[gaugeV2]{good, {}}, nil, "spoke 1 is empty; make it with Between"},
		{"a duplicate version", []conversion.Spoke[gaugeV2]{good, good}, nil, "spoke 1: there is a version v1 already"},
		{"the hub as a spoke", []conversion.Spoke[gaugeV2]{conversion.Between(func(g *gaugeV2) (*gaugeV2, error) { return g, nil }, func(g *gaugeV2) (*gaugeV2, error) { return g, nil })}, nil, "there is a version v2 already"},
		{"a missing function", []conversion.Spoke[gaugeV2]{conversion.Between(v1ToV2, nil)}, nil, "version v1: Between needs a function for each way"},
		{"another kind", []conversion.Spoke[gaugeV2]{conversion.Between(func(*metav1Widget) (*gaugeV2, error) { return nil, nil }, func(*gaugeV2) (*metav1Widget, error) { return nil, nil })}, nil, "it is a Widget of example.com, and the hub is a Gauge of example.com"},
		{"an unknown type", []conversion.Spoke[gaugeV2]{conversion.Between(func(*undescribed) (*gaugeV2, error) { return nil, nil }, func(*gaugeV2) (*undescribed, error) { return nil, nil })}, nil, "not a known kind"},
		{"a negative limit", nil, &conversion.ConverterOptions{KeepLost: true, MaxLostBytes: -1}, "ConverterOptions.MaxLostBytes is -1"},
		{"a limit without KeepLost", nil, &conversion.ConverterOptions{MaxLostBytes: 1}, "MaxLostBytes is set, but KeepLost is not"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := conversion.NewConverter(tt.spokes, tt.opts); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("NewConverter = %v, want %q", err, tt.want)
			}
		})
	}
	if _, err := conversion.NewConverter[undescribed](nil, nil); err == nil || !strings.Contains(err.Error(), "converter: hub: ") {
		t.Errorf("NewConverter with a hub of an unknown type = %v", err)
	}
}

// metav1Widget is another kind.
type metav1Widget struct {
	metav1.TypeMeta
	metav1.ObjectMeta
}

func (*metav1Widget) KubeResource() core.Resource {
	return core.Resource{Group: "example.com", Version: "v1", Kind: "Widget", Plural: "widgets"}
}

func TestCoversFindsMissingVersions(t *testing.T) {
	c := gauges(t, nil)
	definition := func(kind string, versions ...string) *unstructured.Unstructured {
		list := []any{}
		for _, v := range versions {
			list = append(list, map[string]any{"name": v})
		}
		return &unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"name": "gauges.example.com"},
			"spec":     map[string]any{"group": "example.com", "names": map[string]any{"kind": kind}, "versions": list},
		}}
	}
	if err := c.Covers(definition("Gauge", "v1", "v2")); err != nil {
		t.Errorf("Covers = %v", err)
	}
	for _, tt := range []struct {
		crd  *unstructured.Unstructured
		want string
	}{
		{definition("Gauge", "v1", "v3"), "converter: gauges.example.com: nothing converts Gauge of example.com/v3; there are the versions v2, v1, v1beta1"},
		{definition("Meter", "v1"), "converter: gauges.example.com defines a Meter of example.com, and the hub is a Gauge of example.com"},
		{&unstructured.Unstructured{Object: map[string]any{"spec": 1}}, "converter: : .spec.group accessor error"},
	} {
		if err := c.Covers(tt.crd); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Covers = %v, want %q", err, tt.want)
		}
	}
}

const keptV2 = "example.com/conversion-v2"

func TestLostFieldsAreRestored(t *testing.T) {
	c := gauges(t, &conversion.ConverterOptions{KeepLost: true})
	full := func() *gaugeV2 {
		return &gaugeV2{
			TypeMeta:   metav1.TypeMeta{APIVersion: "example.com/v2", Kind: "Gauge"},
			ObjectMeta: metav1.ObjectMeta{Name: "g"},
			Spec: gaugeSpecV2{
				Size:  sizeV2{"3", "cm"},
				Parts: []partV2{{"a", "red", "round"}, {"b", "blue", "flat"}, {"c", "", "hidden"}},
				Limit: &limitV2{1, 2}, Notes: []string{"x"},
			},
		}
	}
	for _, tt := range []struct {
		name    string
		edit    func(*gaugeV1)
		changes func(*gaugeV2)
	}{
		{"without a change", func(*gaugeV1) {}, func(*gaugeV2) {}},
		{"after a change of another field", func(g *gaugeV1) { g.Spec.Size = "4 cm" }, func(g *gaugeV2) { g.Spec.Size.Value = "4" }},
		{"in the remaining items, after a change of one", func(g *gaugeV1) { g.Spec.Parts[0].Color = "green" }, func(g *gaugeV2) { g.Spec.Parts[0].Color = "green" }},
		{"in the remaining items, after a removal", func(g *gaugeV1) { g.Spec.Parts = g.Spec.Parts[1:] }, func(g *gaugeV2) { g.Spec.Parts = g.Spec.Parts[1:] }},
		{
			"in the remaining items, after an addition",
			func(g *gaugeV1) { g.Spec.Parts = append([]partV1{{"z", "black"}}, g.Spec.Parts...) },
			func(g *gaugeV2) { g.Spec.Parts = append([]partV2{{Name: "z", Color: "black"}}, g.Spec.Parts...) },
		},
		{
			"in items that have changed places",
			func(g *gaugeV1) { g.Spec.Parts[0], g.Spec.Parts[1] = g.Spec.Parts[1], g.Spec.Parts[0] },
			func(g *gaugeV2) { g.Spec.Parts[0], g.Spec.Parts[1] = g.Spec.Parts[1], g.Spec.Parts[0] },
		},
		{
			"in an item that has moved and changed",
			func(g *gaugeV1) { g.Spec.Parts = []partV1{{"b", "green"}, {"z", "black"}, {"a", "red"}} },
			func(g *gaugeV2) {
				g.Spec.Parts = []partV2{{"b", "green", "flat"}, {Name: "z", Color: "black"}, {"a", "red", "round"}, {"c", "", "hidden"}}
			},
		},
		{
			"without a hidden item whose name is used now",
			func(g *gaugeV1) { g.Spec.Parts = append(g.Spec.Parts, partV1{"c", "black"}) },
			func(g *gaugeV2) { g.Spec.Parts[2] = partV2{Name: "c", Color: "black"} },
		},
		{
			"not in a removed list",
			func(g *gaugeV1) { g.Spec.Parts = nil },
			func(g *gaugeV2) { g.Spec.Parts = nil },
		},
		{"beside a new value of another field", func(g *gaugeV1) { g.Spec.Rank = new(int32(7)) }, func(g *gaugeV2) {
			g.Annotations = map[string]string{"example.com/conversion-v1": `{"was":{"spec":{}},"is":{"spec":{"rank":7}}}`}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			spoke := to(t, c, full(), "v1").(*gaugeV1)
			if spoke.Annotations[keptV2] == "" {
				t.Fatal("nothing was kept")
			}
			tt.edit(spoke)
			want := full()
			tt.changes(want)
			back := to(t, c, spoke, "v2").(*gaugeV2)
			if diff := cmp.Diff(want, back); diff != "" {
				t.Errorf("back in v2 (-want +got):\n%s", diff)
			}
		})
	}
}

// TestItemsOfAListThatTheOtherVersionCannotRepresentAreRestored checks a list that is empty in the other version until
// somebody adds an item.
func TestItemsOfAListThatTheOtherVersionCannotRepresentAreRestored(t *testing.T) {
	c := gauges(t, &conversion.ConverterOptions{KeepLost: true})
	in := &gaugeV2{ObjectMeta: metav1.ObjectMeta{Name: "g"}, Spec: gaugeSpecV2{Parts: []partV2{{"c", "", "hidden"}}}}
	spoke := to(t, c, in, "v1").(*gaugeV1)
	spoke.Spec.Parts = []partV1{{"z", "black"}}
	back := to(t, c, spoke, "v2").(*gaugeV2)
	if diff := cmp.Diff([]partV2{{Name: "z", Color: "black"}, {"c", "", "hidden"}}, back.Spec.Parts); diff != "" {
		t.Errorf("parts in v2 (-want +got):\n%s", diff)
	}
}

// TestLostFieldsOfListItemsAreRestored calls restoreList, because conversion functions do not produce all of these lists.
func TestLostFieldsOfListItemsAreRestored(t *testing.T) {
	for _, tt := range []struct{ name, now, was, is, want string }{
		{
			"the last of three items moves to the front", `[{"name":"c"},{"name":"a"},{"name":"b"}]`,
			`[{"name":"a"},{"name":"b"},{"name":"c"}]`, `[{"name":"a","x":1},{"name":"b","x":2},{"name":"c","x":3}]`,
			`[{"name":"c","x":3},{"name":"a","x":1},{"name":"b","x":2}]`,
		},
		{
			"equal items without a name move", `[{"p":3},{"p":1},{"p":2}]`,
			`[{"p":1},{"p":2},{"p":3}]`, `[{"p":1,"x":1},{"p":2,"x":2},{"p":3,"x":3}]`,
			`[{"p":3,"x":3},{"p":1,"x":1},{"p":2,"x":2}]`,
		},
		{
			"equal items without a name, of which one changes", `[{"p":2},{"p":1}]`,
			`[{"p":1},{"p":1}]`, `[{"p":1,"x":1},{"p":1,"x":2}]`, `[{"p":2,"x":1},{"p":1,"x":2}]`,
		},
		{
			"the other version sorts items", `[{"name":"a"},{"name":"b"},{"name":"c"}]`,
			`[{"name":"a"},{"name":"b"}]`, `[{"name":"b","x":2},{"name":"a","x":1}]`,
			`[{"name":"a","x":1},{"name":"b","x":2},{"name":"c"}]`,
		},
		{
			"a hidden item without a name follows others", `[{"p":1},{"p":2},{"p":9}]`,
			`[{"p":1},{"p":2}]`, `[{"p":1,"x":1},{"p":2,"x":2},{"x":3}]`, `[{"p":1,"x":1},{"p":2,"x":2},{"p":9},{"x":3}]`,
		},
		{
			"one item changes and one is added", `[{"p":3},{"p":9}]`, `[{"p":1}]`, `[{"p":1,"x":1}]`, `[{"p":3,"x":1},{"p":9}]`,
		},
		{"a hidden value that the other version has added", `["a","a"]`, `["a"]`, `["a","a"]`, `["a","a"]`},
		{"a hidden value of a set is added", `["b","h"]`, `["a"]`, `["a","h"]`, `["b","h"]`},
		{"a hidden value of a list with equal values", `["b","a"]`, `["a"]`, `["a","a"]`, `["b","a","a"]`},
		{
			"the hidden items of a list that was absent", `[{"name":"a","l":["z","h"]}]`,
			`[{"name":"a"}]`, `[{"name":"a","l":["h","i"]}]`, `[{"name":"a","l":["z","h","i"]}]`,
		},
		{
			"the hidden items of a list that was null", `[{"name":"a","l":["z"]}]`,
			`[{"name":"a","l":null}]`, `[{"name":"a","l":["h"]}]`, `[{"name":"a","l":["z","h"]}]`,
		},
		{
			"the hidden fields of an object that was null", `[{"name":"a","o":{"p":1}}]`,
			`[{"name":"a","o":null}]`, `[{"name":"a","o":{"x":2}}]`, `[{"name":"a","o":{"p":1,"x":2}}]`,
		},
		{
			"a hidden item of a list with equal names", `[{"name":"a","p":1},{"name":"b"}]`,
			`[{"name":"a","p":1}]`, `[{"name":"a","p":1},{"name":"a","p":2}]`, `[{"name":"a","p":1},{"name":"b"},{"name":"a","p":2}]`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			list := func(text string) []any {
				var v []any
				if err := wire.UnmarshalJSON([]byte(text), &v); err != nil {
					t.Fatal(err)
				}
				return v
			}
			if diff := cmp.Diff(list(tt.want), conversion.RestoreList(list(tt.now), list(tt.was), list(tt.is))); diff != "" {
				t.Errorf("restoreList (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLostFieldsSurviveAThirdVersion(t *testing.T) {
	c := gauges(t, &conversion.ConverterOptions{KeepLost: true})
	in := &gaugeV1{ObjectMeta: metav1.ObjectMeta{Name: "g"}, Spec: gaugeSpecV1{Size: "3 cm", Rank: new(int32(2))}}
	hub := to(t, c, in, "v2")
	beta := to(t, c, hub, "v1beta1")
	back := to(t, c, to(t, c, beta, "v2"), "v1").(*gaugeV1)
	if diff := cmp.Diff(in.Spec, back.Spec); diff != "" || len(back.Annotations) > 0 {
		t.Errorf("by way of v2, v1beta1 and v2, annotations %v (-want +got):\n%s", back.Annotations, diff)
	}
}

func TestInvalidAnnotationOfLostFieldsIsIgnored(t *testing.T) {
	c := gauges(t, &conversion.ConverterOptions{KeepLost: true})
	for _, text := range []string{"{", "[]", `{"is":{"spec":{"size":[]}}}`, `{"is":{"metadata":{"name":"other"},"kind":"Other"}}`, `{"is":1}`} {
		in := &gaugeV1{ObjectMeta: metav1.ObjectMeta{Name: "g", Annotations: map[string]string{keptV2: text, "mine": "x"}}, Spec: gaugeSpecV1{Size: "3 cm"}}
		out := to(t, c, in, "v2").(*gaugeV2)
		if out.Name != "g" || out.Kind != "Gauge" || out.Spec.Size.Unit != "cm" || cmp.Diff(map[string]string{"mine": "x"}, out.Annotations) != "" {
			t.Errorf("with %s the result is %+v", text, out)
		}
	}
}

// TestAnnotationWithRefusedValuesIsIgnored checks values that the functions of the converter refuse. One object that
// can't be converted would make lists of all objects fail.
func TestAnnotationWithRefusedValuesIsIgnored(t *testing.T) {
	c, err := conversion.NewConverter([]conversion.Spoke[gaugeV2]{
		conversion.Between(v1ToV2, func(in *gaugeV2) (*gaugeV1, error) {
			if in.Spec.Size.Unit == "unknown" {
				return nil, errors.New("the unit is unknown")
			}
			return v2ToV1(in)
		}),
	}, &conversion.ConverterOptions{KeepLost: true})
	if err != nil {
		t.Fatal(err)
	}
	const forged = `{"was":{"spec":{"size":{"Unit":"cm"}}},"is":{"spec":{"size":{"Unit":"unknown"}}}}`
	in := &gaugeV1{ObjectMeta: metav1.ObjectMeta{Name: "g", Annotations: map[string]string{keptV2: forged}}, Spec: gaugeSpecV1{Size: "3 cm"}}
	out := to(t, c, in, "v2").(*gaugeV2)
	if out.Spec.Size.Unit != "cm" || len(out.Annotations) > 0 {
		t.Errorf("the result is %+v", out)
	}
}

func TestLostFieldsAboveTheLimitAreAnError(t *testing.T) {
	c := gauges(t, &conversion.ConverterOptions{KeepLost: true, MaxLostBytes: 64})
	obj := &gaugeV2{TypeMeta: metav1.TypeMeta{APIVersion: "example.com/v2", Kind: "Gauge"}, Spec: gaugeSpecV2{Notes: []string{strings.Repeat("x", 64)}}}
	packed, err := wire.Pack(obj, wire.JSON)
	if err != nil {
		t.Fatal(err)
	}
	const want = "the fields that v1 lacks take 112 bytes, and ConverterOptions.MaxLostBytes allows 64"
	if _, err := c.Convert(packed, "example.com/v1"); err == nil || err.Error() != want {
		t.Errorf("Convert = %v, want %s", err, want)
	}
}

func TestRoundTrips(t *testing.T) {
	conversiontest.RoundTrip(t, gauges(t, &conversion.ConverterOptions{KeepLost: true}), nil)
}

func FuzzRoundTrips(f *testing.F) {
	conversiontest.Fuzz(f, gauges(f, &conversion.ConverterOptions{KeepLost: true}), nil)
}

// FuzzKept checks that no annotation makes a conversion fail or changes the identity of the object.
func FuzzKept(f *testing.F) {
	f.Add(`{"was":{"spec":{}},"is":{"spec":{"limit":{"Low":1}}}}`)
	f.Add(`{"was":{"spec":{"parts":[{"Name":"a"},1,[]]}},"is":{"spec":{"parts":[{"Name":"a","Shape":"x"}],"notes":null}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		c := gauges(t, &conversion.ConverterOptions{KeepLost: true, MaxLostBytes: 1 << 20})
		in := &gaugeV1{ObjectMeta: metav1.ObjectMeta{Name: "g", Annotations: map[string]string{keptV2: text}}, Spec: gaugeSpecV1{Parts: []partV1{{"a", "b"}}}}
		if out := to(t, c, in, "v2"); out.GetName() != "g" || out.GetAnnotations()[keptV2] != "" {
			t.Errorf("the result is %+v", out)
		}
	})
}

func ExampleNewConverter() {
	converter, err := conversion.NewConverter([]conversion.Spoke[gaugeV2]{
		conversion.Between(v1ToV2, v2ToV1),
		conversion.Between(betaToV2, v2ToBeta),
	}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(converter.Versions())
	const old = `{"apiVersion":"example.com/v1","kind":"Gauge","metadata":{"name":"g"},"spec":{"size":"3 cm"}}`
	obj, err := converter.Convert(wire.NewPacked(wire.JSON, []byte(old)), "example.com/v2")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(obj.GetName(), strconv.Quote(obj.(*gaugeV2).Spec.Size.Unit))
	// Output:
	// [v2 v1 v1beta1]
	// g "cm"
}
