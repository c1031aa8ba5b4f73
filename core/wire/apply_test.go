// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/internal/apitest"
	"github.com/kube-go/sdk/core/wire"
)

// base is embedded without a name, behind a pointer.
type base struct {
	Color string            `json:"color,omitempty"`
	Tags  map[string]string `json:"tags"`
}

// part is a struct in a lean kind.
type part struct {
	Size  int         `json:"size"`
	When  metav1.Time `json:"when"`
	Names []string    `json:"names"`
}

// lean is a kind that declares few fields, in the ways that Go and its tags allow.
type lean struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	*base
	Part     part                  `json:"part"`
	Optional struct{ A *int }      `json:"optional,omitempty"`
	Required struct{ A *int }      `json:"required"`
	Parts    []part                `json:"parts,omitempty"`
	ByName   map[string]part       `json:"byName,omitempty"`
	Free     map[string]any        `json:"free,omitempty"`
	Odd      map[int]part          `json:"odd,omitempty"`
	Raw      any                   `json:"raw"`
	Template *corev1.PodTemplate   `json:"template,omitempty"`
	Bytes    []byte                `json:"bytes"`
	Limits   map[string]*part      `json:"limits"`
	Dropped  string                `json:"-"`
	Status   struct{ N int }       `json:"status"`
	Inner    *metav1.LabelSelector `json:"inner"`
}

func TestMarshalApply(t *testing.T) {
	meta := metav1.ObjectMeta{Name: "a"}
	for _, tc := range []struct {
		name string
		obj  core.Object
		want string // but for apiVersion, kind and metadata.name
	}{
		{"a pod of which nothing is set", &corev1.Pod{ObjectMeta: meta}, `}}`},
		{
			"a status with fields that are always there, beside numbers that are", &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: meta},
			`},"spec":{"scaleTargetRef":{"kind":"","name":""},"maxReplicas":0}}`,
		},
		{
			"a status that is set", &corev1.Namespace{ObjectMeta: meta, Status: corev1.NamespaceStatus{Phase: "Active"}},
			`},"status":{"phase":"Active"}}`,
		},
		{
			"no status, but text that looks like one", &corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"status": "{}", "a": ""}},
			`},"data":{"a":"","status":"{}"}}`,
		},
		{
			"a deployment without a strategy, resources and times", &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{
				Replicas: new(int32(0)),
				Selector: &metav1.LabelSelector{},
				Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
					Containers: []corev1.Container{{Name: "main", Image: "one"}, {Name: "side", Resources: corev1.ResourceRequirements{
						Limits: corev1.ResourceList{"cpu": resource.MustParse("1")},
					}}},
					Volumes: []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
				}},
			}},
			`},"spec":{"replicas":0,"selector":{},"template":{"spec":{"volumes":[{"name":"v","emptyDir":{}}],"containers":[` +
				`{"name":"main","image":"one"},{"name":"side","resources":{"limits":{"cpu":"1"}}}]}}}}`,
		},
		{
			"an empty object that is not optional says something", &networkingv1.NetworkPolicy{ObjectMeta: meta, Spec: networkingv1.NetworkPolicySpec{
				PolicyTypes: []networkingv1.PolicyType{"Ingress"},
			}},
			`},"spec":{"podSelector":{},"policyTypes":["Ingress"]}}`,
		},
		{
			"a lean kind of which nothing is set", &lean{ObjectMeta: meta},
			`},"part":{"size":0},"required":{}}`,
		},
		{
			"a lean kind of which all is set",
			&lean{
				ObjectMeta: meta,
				base:       &base{Color: "red", Tags: map[string]string{}},
				Part:       part{When: metav1.NewTime(time.Unix(0, 0)), Names: []string{}},
				Parts:      []part{{Size: 1}, {Names: []string{`q"`}}},
				ByName:     map[string]part{`x"y`: {}},
				Free:       map[string]any{"null": nil, "empty": map[string]any{}},
				Odd:        map[int]part{1: {}},
				Raw:        map[string]any{"n": nil},
				Template:   &corev1.PodTemplate{},
				Bytes:      []byte("x"),
				Limits:     map[string]*part{"a": nil, "b": {}},
				Status:     struct{ N int }{1},
				Inner:      &metav1.LabelSelector{},
			},
			`},"color":"red","tags":{},"part":{"size":0,"when":"1970-01-01T00:00:00Z","names":[]},"required":{},` +
				`"parts":[{"size":1},{"size":0,"names":["q\""]}],"byName":{"x\"y":{"size":0}},"free":{"empty":{},"null":null},` +
				`"odd":{"1":{"size":0,"when":null,"names":null}},"raw":{"n":null},"template":{},"bytes":"eA==",` +
				`"limits":{"a":null,"b":{"size":0}},"status":{"N":1},"inner":{}}`,
		},
		{
			"an object of any kind, as machines write it",
			&unstructured.Unstructured{Object: map[string]any{
				"metadata": map[string]any{"name": "a", "creationTimestamp": nil},
				"spec": map[string]any{
					"template": map[string]any{"metadata": map[string]any{"creationTimestamp": nil, "labels": nil}},
					"items":    []any{map[string]any{"metadata": map[string]any{"creationTimestamp": nil}}, int64(1)},
					"strategy": map[string]any{}, "creationTimestamp": nil,
				},
				"status": map[string]any{},
			}},
			`},"spec":{"creationTimestamp":null,"items":[{"metadata":{}},1],"strategy":{},"template":{"metadata":{"labels":null}}}}`,
		},
		{
			"a status of any kind that is set",
			&unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "a"}, "status": map[string]any{"a": nil}}},
			`},"status":{"a":null}}`,
		},
		{
			"what a server says of an object is sent if it is there",
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "u", ResourceVersion: "7"}},
			`,"uid":"u","resourceVersion":"7"}}`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			body, err := wire.MarshalApply(tc.obj, core.Resource{Version: "v1", Kind: "X", Plural: "x"})
			if err != nil {
				t.Fatal(err)
			}
			got := string(body)
			for _, head := range []string{`{"kind":"X","apiVersion":"v1","metadata":{"name":"a"`, `{"apiVersion":"v1","kind":"X","metadata":{"name":"a"`} {
				got = strings.TrimPrefix(got, head)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("MarshalApply (-want +got):\n%s", diff)
			}
		})
	}
}

// What is left out is what was not set: the object that comes back is the same. Of no kind does an object of which
// nothing is set claim a null, a status or a time.
func TestMarshalApplyOfEveryKind(t *testing.T) {
	for _, k := range apitest.Kinds(t) {
		body, err := wire.MarshalApply(k.New(), resourceOf(k))
		if err != nil {
			t.Fatal(err)
		}
		for _, noise := range []string{"null", `"status":{}`, "Timestamp"} {
			if strings.Contains(string(body), noise) {
				t.Errorf("%s of which nothing is set is %s, which has %s", k.Type, body, noise)
			}
		}
		for seed := range int64(3) {
			obj := apitest.Random(k, seed)
			body, err := wire.MarshalApply(obj, resourceOf(k))
			if err != nil {
				t.Fatal(err)
			}
			got := k.New()
			if err := wire.Unmarshal(body, wire.MediaTypeJSON, got); err != nil {
				t.Fatalf("%s: %v in %s", k.Type, err, body)
			}
			want := roundTrip(t, k, obj, wire.JSON)
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s (-set +sent):\n%s", k.Type, diff)
			}
		}
	}
}
