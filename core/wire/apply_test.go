// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/internal/apitest"
	"github.com/kube-go/sdk/core/wire"
)

// base is embedded without a name, by a pointer.
type base struct {
	Color string            `json:"color,omitempty"`
	Tags  map[string]string `json:"tags"`
}

// part is a nested struct of a lean kind.
type part struct {
	Size  int         `json:"size"`
	When  metav1.Time `json:"when"`
	Names []string    `json:"names"`
}

// lean is a kind that declares few fields, in all ways that Go and JSON tags allow.
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

// timed has zero values that are not encoded as objects.
type timed struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              timeSpec   `json:"spec"`
	Specs             []timeSpec `json:"specs,omitempty"`
}

type timeSpec struct {
	Name     string             `json:"name"`
	Duration metav1.Duration    `json:"duration"`
	Optional metav1.Duration    `json:"optional,omitempty"`
	Port     intstr.IntOrString `json:"port"`
	Size     resource.Quantity  `json:"size"`
	When     metav1.Time        `json:"when"`
}

func TestMarshalApplySendsOnlySetFields(t *testing.T) {
	meta := metav1.ObjectMeta{Name: "a"}
	for _, tc := range []struct {
		name  string
		obj   core.Object
		want  string // without apiVersion, kind and metadata.name
		zeros bool   // send zero values
	}{
		{"an empty pod", &corev1.Pod{ObjectMeta: meta}, `}}`, false},
		{
			"an empty autoscaler", &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: meta},
			`}}`, false,
		},
		{
			"a job with a label", &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"a": "b"}}},
			`,"labels":{"a":"b"}}}`, false,
		},
		{
			"a zero value with SendZeroValues", &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: meta, Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
				MinReplicas: new(int32(1)),
			}},
			`},"spec":{"scaleTargetRef":{"kind":"","name":""},"minReplicas":1,"maxReplicas":0}}`, true,
		},
		{
			"a struct whose fields are all zero, with SendZeroValues", &batchv1.CronJob{ObjectMeta: meta},
			`},"spec":{"schedule":""}}`, true,
		},
		{
			"zero values in the items of a list", &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
				Name: "a", OwnerReferences: []metav1.OwnerReference{{Kind: "K", Name: "n"}},
			}},
			`,"ownerReferences":[{"apiVersion":"","kind":"K","name":"n","uid":""}]}}`, false,
		},
		{
			"an unset port, quantity and time", &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{
				Ports: []corev1.ServicePort{{Port: 80}},
			}},
			`},"spec":{"ports":[{"port":80}]}}`, false,
		},
		{
			"structs that are encoded as strings, in a zero struct and in the items of a list",
			&timed{ObjectMeta: meta, Specs: []timeSpec{{Name: "a"}}},
			`},"specs":[{"name":"a","duration":"0s","port":0,"size":"0"}]}`, false,
		},
		{
			"structs that are encoded as strings, with SendZeroValues", &timed{ObjectMeta: meta, Spec: timeSpec{Name: "a"}},
			`},"spec":{"name":"a","duration":"0s","port":0,"size":"0"}}`, true,
		},
		{
			"an optional port in the items of a list, with SendZeroValues",
			&corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}},
			`},"spec":{"ports":[{"port":80}]}}`, true,
		},
		{
			"optional structs without a field to send, with SendZeroValues", &lean{ObjectMeta: meta},
			`},"part":{"size":0}}`, true,
		},
		{
			"a status", &corev1.Namespace{ObjectMeta: meta, Status: corev1.NamespaceStatus{Phase: "Active"}},
			`},"status":{"phase":"Active"}}`, false,
		},
		{
			"no status, but a string that looks like one", &corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"status": "{}", "a": ""}},
			`},"data":{"a":"","status":"{}"}}`, false,
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
				`{"name":"main","image":"one"},{"name":"side","resources":{"limits":{"cpu":"1"}}}]}}}}`, false,
		},
		{
			"an empty required struct", &networkingv1.NetworkPolicy{ObjectMeta: meta, Spec: networkingv1.NetworkPolicySpec{
				PolicyTypes: []networkingv1.PolicyType{"Ingress"},
			}},
			`},"spec":{"policyTypes":["Ingress"]}}`, false,
		},
		{
			"an empty lean kind", &lean{ObjectMeta: meta},
			`}}`, false,
		},
		{
			"a lean kind with all fields",
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
			`},"color":"red","tags":{},"part":{"size":0,"when":"1970-01-01T00:00:00Z","names":[]},` +
				`"parts":[{"size":1},{"size":0,"names":["q\""]}],"byName":{"x\"y":{"size":0}},"free":{"empty":{},"null":null},` +
				`"odd":{"1":{"size":0,"when":null,"names":null}},"raw":{"n":null},"template":{},"bytes":"eA==",` +
				`"limits":{"a":null,"b":{"size":0}},"status":{"N":1},"inner":{}}`, true,
		},
		{
			"an unstructured object",
			&unstructured.Unstructured{Object: map[string]any{
				"metadata": map[string]any{"name": "a", "creationTimestamp": nil},
				"spec": map[string]any{
					"template": map[string]any{"metadata": map[string]any{"creationTimestamp": nil, "labels": nil}},
					"items":    []any{map[string]any{"metadata": map[string]any{"creationTimestamp": nil}}, int64(1)},
					"strategy": map[string]any{}, "creationTimestamp": nil,
				},
				"status": map[string]any{},
			}},
			`},"spec":{"creationTimestamp":null,"items":[{"metadata":{}},1],"strategy":{},"template":{"metadata":{"labels":null}}}}`, false,
		},
		{
			"the status of an unstructured object",
			&unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "a"}, "status": map[string]any{"a": nil}}},
			`},"status":{"a":null}}`, false,
		},
		{
			"metadata of the server is sent if it is set",
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "u", ResourceVersion: "7"}},
			`,"uid":"u","resourceVersion":"7"}}`, false,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			body, err := wire.MarshalApply(tc.obj, core.Resource{Version: "v1", Kind: "X", Plural: "x"}, &wire.ApplyOptions{ZeroValues: tc.zeros})
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

func TestMarshalApplyRejectsAmbiguousZeroValues(t *testing.T) {
	meta := metav1.ObjectMeta{Name: "a"}
	for _, tc := range []struct {
		name string
		obj  core.Object
		want []string
	}{
		{
			"beside a set field", &batchv1.CronJob{ObjectMeta: meta, Spec: batchv1.CronJobSpec{Suspend: new(true)}},
			[]string{"spec.schedule"},
		},
		{
			"in a nested struct, with all others", &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: meta, Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
				ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{Name: "web"},
			}},
			[]string{"spec.scaleTargetRef.kind", "spec.maxReplicas"},
		},
		{"at the root", &schedulingv1.PriorityClass{ObjectMeta: meta}, []string{"value"}},
		{
			"behind a pointer", &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "a", DeletionGracePeriodSeconds: new(int64(0))}},
			nil, // a pointer to zero is a set value
		},
		{"in a status", &policyv1.PodDisruptionBudget{ObjectMeta: meta, Status: policyv1.PodDisruptionBudgetStatus{ExpectedPods: 3}}, []string{
			"status.disruptionsAllowed", "status.currentHealthy", "status.desiredHealthy",
		}},
		{"of a struct that is encoded as a string", &timed{ObjectMeta: meta, Spec: timeSpec{Name: "a"}}, []string{
			"spec.duration", "spec.port", "spec.size",
		}},
		{"of a boolean", &lean{ObjectMeta: meta, Part: part{Names: []string{"a"}}}, []string{"part.size"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			body, err := wire.MarshalApply(tc.obj, core.Resource{Version: "v1", Kind: "X", Plural: "x"}, nil)
			var got []string
			if zero, ok := errors.AsType[*wire.ZeroValueError](err); ok {
				got = zero.Fields
			} else if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("fields (-want +got):\n%s\nbody %s", diff, body)
			}
		})
	}
}

// TestMarshalApplyOfAStatusWithoutSetFields checks that a status that becomes zero is not left out of an apply to the
// subresource, since the server would then remove it.
func TestMarshalApplyOfAStatusWithoutSetFields(t *testing.T) {
	res := core.Resource{Version: "v1", Kind: "X", Plural: "x"}
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	_, err := wire.MarshalApply(budget, res, &wire.ApplyOptions{Status: true})
	zero, ok := errors.AsType[*wire.ZeroValueError](err)
	want := []string{
		"status.disruptionsAllowed", "status.currentHealthy", "status.desiredHealthy", "status.expectedPods",
	}
	if !ok || !slices.Equal(zero.Fields, want) {
		t.Errorf("MarshalApply = %v, want an error about %q", err, want)
	}
	body, err := wire.MarshalApply(budget, res, &wire.ApplyOptions{Status: true, ZeroValues: true})
	if err != nil || !strings.Contains(string(body), `"status":{"disruptionsAllowed":0,"currentHealthy":0,"desiredHealthy":0,"expectedPods":0}`) {
		t.Errorf("MarshalApply = %s, %v", body, err)
	}
	body, err = wire.MarshalApply(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, res, &wire.ApplyOptions{Status: true})
	if err != nil || strings.Contains(string(body), "status") {
		t.Errorf("MarshalApply of a status whose fields all have omitempty = %s, %v", body, err)
	}
	type machine struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`

		Spec struct {
			URL string `json:"url"`
		} `json:"spec"`
		Status struct {
			Runs int `json:"runs"`
		} `json:"status"`
	}
	idle := &machine{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	body, err = wire.MarshalApply(idle, res, &wire.ApplyOptions{Status: true, ZeroValues: true})
	if err != nil || strings.Contains(string(body), "spec") || !strings.Contains(string(body), `"status":{"runs":0}`) {
		t.Errorf("MarshalApply of a zero status = %s, %v, want the status without the spec", body, err)
	}
}

// Only unset fields are omitted: decoding the result returns the same object. An empty object of any kind has no null,
// status or time.
func TestMarshalApplyOmitsOnlyUnsetFieldsOfEveryKind(t *testing.T) {
	for _, k := range apitest.Kinds(t) {
		body, err := wire.MarshalApply(k.New(), resourceOf(k), &wire.ApplyOptions{ZeroValues: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, noise := range []string{"null", `"status":{}`, "Timestamp"} {
			if strings.Contains(string(body), noise) {
				t.Errorf("an empty %s is encoded as %s, which has %s", k.Type, body, noise)
			}
		}
		for seed := range int64(3) {
			obj := apitest.Random(k, seed)
			body, err := wire.MarshalApply(obj, resourceOf(k), &wire.ApplyOptions{ZeroValues: true})
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

type (
	deepSize struct {
		Size int64 `json:"size"`
	}
	leftSize  struct{ deepSize }
	rightSize struct {
		Size *int64 `json:"size,omitempty"`
	}
	twoSizes struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		leftSize
		rightSize
	}
)

func (t *twoSizes) DeepCopyObject() runtime.Object { c := *t; return &c }

// TestMarshalApplyIsYAML checks raw values whose escapes a parser of YAML refuses, as an API server does.
func TestMarshalApplyIsYAML(t *testing.T) {
	revision := &appsv1.ControllerRevision{
		Data: runtime.RawExtension{Raw: []byte(`{"a\/b":"\ud83d\ude00\n\"","c":"` + "\xff" + `<","n":1.50}`)},
	}
	revision.Name, revision.Revision = "a", 1
	got, err := wire.MarshalApply(revision, core.Resource{Group: "apps", Version: "v1", Kind: "ControllerRevision"}, nil)
	if want := `"data":{"a/b":"😀\n\"","c":"` + "\ufffd" + `\u003c","n":1.50}`; err != nil || !strings.Contains(string(got), want) {
		t.Errorf("MarshalApply() = %s, %v, want %s", got, err, want)
	}
}

// TestMarshalApplyEscapesWhatYAMLChanges checks characters that a parser of YAML refuses in a string or changes.
func TestMarshalApplyEscapesWhatYAMLChanges(t *testing.T) {
	runes := []rune{' ', '~', 'é', '€', '😀', 0x2028, 0x2029, 0xfeff, 0xfffd, 0xfffe, 0xffff, 0x1fffe, 0x10ffff}
	for r := rune(0); r <= 0xa0; r++ {
		runes = append(runes, r)
	}
	for _, r := range runes {
		text, raw, escaped := "a"+string(r)+"b"+string(r), r, min(r, 0xffff)
		if r < ' ' || r == '"' || r == '\\' {
			raw = ' '
		}
		meta := metav1.ObjectMeta{Name: "a"}
		for _, tc := range []struct {
			obj  core.Object
			want map[string]any
		}{
			{
				&corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"value": text, text: "key"}},
				map[string]any{"value": text, text: "key"},
			},
			{
				&appsv1.ControllerRevision{ObjectMeta: meta, Revision: 1, Data: runtime.RawExtension{
					Raw: fmt.Appendf(nil, `{"raw":"%c","escaped":"\u%04x","slash":"\/"}`, raw, escaped),
				}},
				map[string]any{"raw": string(raw), "escaped": string(escaped), "slash": "/"},
			},
		} {
			body, err := wire.MarshalApply(tc.obj, core.Resource{Version: "v1", Kind: "X", Plural: "x"}, nil)
			if err != nil {
				t.Fatal(err)
			}
			var got map[string]any
			if err := yaml.UnmarshalStrict(body, &got); err != nil {
				t.Errorf("%U: %v in %q", r, err, body)
			} else if diff := cmp.Diff(tc.want, got["data"]); diff != "" {
				t.Errorf("%U in %q (-want +got):\n%s", r, body, diff)
			}
		}
	}
}

func TestMarshalApplyReadsTheFieldThatIsEncoded(t *testing.T) {
	obj := &twoSizes{rightSize: rightSize{Size: new(int64(5))}}
	body, err := wire.MarshalApply(obj, core.Resource{Version: "v1", Kind: "A", Plural: "as"}, nil)
	if err != nil || !strings.Contains(string(body), `"size":5`) {
		t.Errorf("MarshalApply = %s, %v, want the size 5 of the embedded struct at the lower depth", body, err)
	}
}
