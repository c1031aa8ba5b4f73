// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/managed"
	"github.com/kube-go/sdk/core/wire"
)

// entry is an entry of managedFields in an object.
func entry(manager, operation, apiVersion, subresource, fields string) string {
	return `{"manager":"` + manager + `","operation":"` + operation + `","apiVersion":"` + apiVersion + `","subresource":"` + subresource +
		`","time":"2026-01-02T15:04:05Z","fieldsType":"FieldsV1","fieldsV1":` + fields + `}`
}

// deployment is an object as returned by a server: "web" applied it, "scaler" and "limiter" applied parts of it, and
// "controller" wrote its status.
func deployment() string {
	return `{"apiVersion":"apps/v1","kind":"Deployment",
		"metadata":{"name":"web","namespace":"prod","uid":"1","resourceVersion":"7","generation":2,"creationTimestamp":"2026-01-02T15:04:05Z",
			"labels":{"app":"web","team":"a"},"finalizers":["a/b","c/d"],"managedFields":[` + strings.Join([]string{
		entry("web", "Apply", "apps/v1", "", `{"f:metadata":{"f:labels":{"f:app":{}},"f:finalizers":{"v:\"c/d\"":{}}},"f:spec":{"f:selector":{},
			"f:strategy":{},"f:template":{"f:metadata":{"f:labels":{"f:app":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"main\"}":{".":{},
			"f:image":{},"f:name":{},"f:resources":{},"f:args":{},
			"f:ports":{"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{}}}}}}}}}`),
		entry("scaler", "Apply", "apps/v1", "", `{"f:spec":{"f:replicas":{}}}`),
		entry("limiter", "Apply", "apps/v1", "", `{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"main\"}":{
			"f:resources":{"f:limits":{"f:cpu":{}}}}}}}}}`),
		entry("controller", "Update", "apps/v1", "status", `{"f:status":{"f:replicas":{}}}`),
		entry("reporter", "Apply", "apps/v1", "status", `{"f:status":{"f:conditions":{"k:{\"type\":\"Seen\"}":{".":{},"f:type":{},"f:status":{}}}}}`),
		entry("old", "Apply", "apps/v1beta1", "", `{"f:spec":{"f:paused":{}}}`),
		entry("strange", "Apply", "apps/v1", "", `{"f:spec":{"f:paused":{},"f:flavour":{},"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"gone\"}":{}}}}}}`),
	}, ",") + `]},
		"spec":{"replicas":3,"selector":{"matchLabels":{"app":"web"}},"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":1}},
			"template":{"metadata":{"labels":{"app":"web","b":"c"}},"spec":{"containers":[
				{"name":"side","image":"side:1"},
				{"name":"main","image":"main:1","args":["-v"],"imagePullPolicy":"Always","resources":{"limits":{"cpu":"1"}},
					"ports":[{"containerPort":80,"protocol":"TCP"},{"containerPort":81,"protocol":"TCP"}]}]}}},
		"status":{"replicas":3,"conditions":[{"type":"Seen","status":"True","lastTransitionTime":null},{"type":"Other","status":"True"}]}}`
}

func read[K any, P core.ObjectPtr[K]](t *testing.T, text string) *K {
	t.Helper()
	obj := new(K)
	if err := wire.Unmarshal([]byte(text), "application/json", P(obj)); err != nil {
		t.Fatal(err)
	}
	return obj
}

func TestExtractReturnsTheAppliedFields(t *testing.T) {
	const head = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{`
	for _, tc := range []struct {
		name, manager string
		subresource   string
		typed         bool // also extracted into a struct
		want          string
	}{
		{
			name: "only applied fields are returned", manager: "web", typed: true,
			want: head + `"finalizers":["c/d"],"labels":{"app":"web"},"name":"web","namespace":"prod"},"spec":{"selector":{"matchLabels":{"app":"web"}},` +
				`"strategy":{"rollingUpdate":{"maxSurge":1},"type":"RollingUpdate"},"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[` +
				`{"args":["-v"],"image":"main:1","name":"main","ports":[{"containerPort":80,"protocol":"TCP"}],"resources":{}}]}}}}`,
		},
		{
			name: "the key of an item is included without being owned", manager: "limiter", typed: false,
			want: head + `"name":"web","namespace":"prod"},"spec":{"template":{"spec":{"containers":[{"name":"main","resources":{"limits":{"cpu":"1"}}}]}}}}`,
		},
		{
			name: "one field", manager: "scaler", typed: true,
			want: head + `"name":"web","namespace":"prod"},"spec":{"replicas":3}}`,
		},
		{
			name: "fields of a subresource", manager: "reporter", subresource: "status", typed: false,
			want: head + `"name":"web","namespace":"prod"},"status":{"conditions":[{"status":"True","type":"Seen"}]}}`,
		},
		{
			name: "updated fields are not included", manager: "controller", subresource: "status", typed: true,
			want: head + `"name":"web","namespace":"prod"}}`,
		},
		{
			name: "fields applied to a subresource are not included for the object", manager: "reporter", typed: true,
			want: head + `"name":"web","namespace":"prod"}}`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := &managed.ExtractOptions{Subresource: tc.subresource}
			u := read[unstructured.Unstructured](t, deployment())
			before := u.DeepCopy()
			got, err := managed.Extract(u, tc.manager, o)
			if err != nil {
				t.Fatal(err)
			}
			if text, err := wire.MarshalJSON(got.Object); err != nil || string(text) != tc.want {
				t.Errorf("Extract = %s, %v, want\n%s", text, err, tc.want)
			}
			if diff := cmp.Diff(before, u); diff != "" {
				t.Errorf("Extract changed its argument (-want +got):\n%s", diff)
			}
			if !tc.typed {
				return
			}
			typed, err := managed.Extract(read[appsv1.Deployment](t, deployment()), tc.manager, o)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(read[appsv1.Deployment](t, tc.want), typed); diff != "" {
				t.Errorf("Extract of a struct (-want +got):\n%s", diff)
			}
		})
	}
}

// lean declares few fields.
type lean struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Replicas *int32 `json:"replicas,omitempty"`
		Paused   bool   `json:"paused"`
	} `json:"spec,omitzero"`
}

func TestExtractRejectsInvalidObjects(t *testing.T) {
	for _, tc := range []struct {
		name    string
		do      func(t *testing.T) error
		wantErr string
	}{
		{
			"an object without managed fields",
			func(t *testing.T) error {
				u := read[unstructured.Unstructured](t, deployment())
				u.SetManagedFields(nil)
				_, err := managed.Extract(u, "web", nil)
				return err
			},
			`extract the fields of "web" from prod/web: the object has no metadata.managedFields, as from a cache; get it from the server`,
		},
		{
			"another version than the applied one",
			func(t *testing.T) error {
				_, err := managed.Extract(read[unstructured.Unstructured](t, deployment()), "old", nil)
				return err
			},
			`it applied apps/v1beta1, but the object is apps/v1; read the object in that version`,
		},
		{
			"missing fields",
			func(t *testing.T) error {
				_, err := managed.Extract(read[unstructured.Unstructured](t, deployment()), "strange", nil)
				return err
			},
			`it owns .spec.flavour, .spec.paused, .spec.template.spec.containers[name="gone"], which the object does not have`,
		},
		{
			"a struct that does not declare the fields",
			func(t *testing.T) error {
				_, err := managed.Extract(read[lean](t, deployment()), "limiter", nil)
				return err
			},
			`it owns .spec.template.spec.containers[name="main"].resources.limits.cpu, which the object does not have; read it as unstructured`,
		},
		{
			"a struct with more fields",
			func(t *testing.T) error {
				_, err := managed.Extract(read[lean](t, deployment()), "scaler", nil)
				return err
			},
			`it does not own .spec.paused, which *managed_test.lean always encodes; read it as unstructured`,
		},
		{
			"invalid managed fields",
			func(t *testing.T) error {
				pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}}
				pod.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "m", FieldsV1: metav1.NewFieldsV1(`{"x":{}}`)}}
				_, err := managed.Extract(pod, "web", nil)
				return err
			},
			`managed fields of "m": in "": element "x": key must be 2 characters long`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if err := tc.do(t); err == nil || !strings.Contains(err.Error(), tc.wantErr) {
				t.Errorf("error %v, want %s", err, tc.wantErr)
			}
		})
	}
}

func TestExtractDoesNotClaimAnEmptyStruct(t *testing.T) {
	policy := `{"apiVersion":"networking.k8s.io/v1","kind":"NetworkPolicy","metadata":{"name":"p","managedFields":[` +
		entry("a", "Apply", "networking.k8s.io/v1", "", `{"f:spec":{"f:policyTypes":{}}}`) + `]},"spec":{"podSelector":{"matchLabels":{"a":"b"}},"policyTypes":["Ingress"]}}`
	got, err := managed.Extract(read[networkingv1.NetworkPolicy](t, policy), "a", nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := wire.MarshalApply(got, core.Resource{Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"}, nil)
	if err != nil || strings.Contains(string(body), "podSelector") {
		t.Errorf("an apply of the result sends %s, %v", body, err)
	}
}

// TestExtractOfAnObjectWithoutAKind checks items of lists, which servers send without a kind.
func TestExtractOfAnObjectWithoutAKind(t *testing.T) {
	item := strings.Replace(deployment(), `"apiVersion":"apps/v1","kind":"Deployment",`, "", 1)
	for _, manager := range []string{"scaler", "nobody"} {
		got, err := managed.Extract(read[appsv1.Deployment](t, item), manager, nil)
		if err != nil || got.APIVersion != "apps/v1" || got.Kind != "Deployment" {
			t.Errorf("Extract of a Deployment for %s = %v, %v", manager, got, err)
		}
		_, err = managed.Extract(read[metav1.PartialObjectMetadata](t, item), manager, nil)
		if _, ok := errors.AsType[*core.UnknownKindError](err); !ok || !strings.Contains(err.Error(), "its apiVersion and kind are not set: ") {
			t.Errorf("Extract of an object of any kind for %s: error %v, want an UnknownKindError", manager, err)
		}
	}
}

// switched has a struct whose only field may be a zero value.
type switched struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Enabled bool `json:"enabled"`
	} `json:"spec"`
}

// TestExtractOfZeroValues checks that a default apply of a result does not give up fields silently.
func TestExtractOfZeroValues(t *testing.T) {
	object := func(apiVersion, kind, subresource, fields, rest string) string {
		return `{"apiVersion":"` + apiVersion + `","kind":"` + kind + `","metadata":{"name":"x","labels":{"a":"b"},"managedFields":[` +
			entry("m", "Apply", apiVersion, subresource, fields) + `]},` + rest + `}`
	}
	const label = `{"f:metadata":{"f:labels":{"f:a":{}}}}`
	off := object("example.com/v1", "Switch", "", `{"f:spec":{"f:enabled":{}}}`, `"spec":{"enabled":false}`)
	budget := object("policy/v1", "PodDisruptionBudget", "status", `{"f:status":{"f:currentHealthy":{},"f:desiredHealthy":{},
		"f:disruptionsAllowed":{},"f:expectedPods":{}}}`, `"status":{"currentHealthy":0,"desiredHealthy":0,"disruptionsAllowed":0,"expectedPods":0}`)
	job := object("batch/v1", "CronJob", "", label, `"spec":{"schedule":"* * * * *"}`)
	scaler := object("autoscaling/v2", "HorizontalPodAutoscaler", "", label, `"spec":{"maxReplicas":3,"scaleTargetRef":{"kind":"A","name":"b"}}`)
	for _, tc := range []struct {
		name    string
		extract func(*managed.ExtractOptions) (core.Object, error)
		o       *managed.ExtractOptions
		want    string // the body of an apply with the options, without apiVersion and kind
		wantErr string
	}{
		{
			"a zero value that only SendZeroValues sends", extractFrom[switched](t, off), nil,
			"", "it owns .spec.enabled, which a default apply of *managed_test.switched leaves out, since the values are zero; set SendZeroValues",
		},
		{
			"a zero value with SendZeroValues", extractFrom[switched](t, off), &managed.ExtractOptions{SendZeroValues: true},
			`"metadata":{"name":"x"},"spec":{"enabled":false}}`, "",
		},
		{
			"a zero status with SendZeroValues", extractFrom[policyv1.PodDisruptionBudget](t, budget),
			&managed.ExtractOptions{Subresource: "status", SendZeroValues: true},
			`"metadata":{"name":"x"},"status":{"disruptionsAllowed":0,"currentHealthy":0,"desiredHealthy":0,"expectedPods":0}}`, "",
		},
		{
			"a zero status, of which a default apply is an error", extractFrom[policyv1.PodDisruptionBudget](t, budget),
			&managed.ExtractOptions{Subresource: "status"}, "", "",
		},
		{
			"a label of a job", extractFrom[batchv1.CronJob](t, job), nil,
			`"metadata":{"name":"x","labels":{"a":"b"}}}`, "",
		},
		{
			"a label of an autoscaler", extractFrom[autoscalingv2.HorizontalPodAutoscaler](t, scaler), nil,
			`"metadata":{"name":"x","labels":{"a":"b"}}}`, "",
		},
		{
			"a label of a job with SendZeroValues", extractFrom[batchv1.CronJob](t, job), &managed.ExtractOptions{SendZeroValues: true},
			"", "it does not own .spec.schedule, which *v1.CronJob always encodes",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := tc.extract(tc.o)
			if (err == nil) != (tc.wantErr == "") || err != nil && !strings.Contains(err.Error(), tc.wantErr) {
				t.Fatalf("Extract: error %v, want %s", err, tc.wantErr)
			}
			if err != nil {
				return
			}
			o := &wire.ApplyOptions{ZeroValues: tc.o != nil && tc.o.SendZeroValues, Status: tc.o != nil && tc.o.Subresource == "status"}
			body, err := wire.MarshalApply(got, core.Resource{Version: "v1", Kind: "X"}, o)
			if _, ok := errors.AsType[*wire.ZeroValueError](err); ok != (tc.want == "") || !strings.HasSuffix(string(body), tc.want) {
				t.Errorf("an apply of the result sends %s, %v, want %s", body, err, tc.want)
			}
		})
	}
}

// extractFrom returns a function that extracts the fields of the manager "m" from an object in JSON.
func extractFrom[K any, P core.ObjectPtr[K]](t *testing.T, text string) func(*managed.ExtractOptions) (core.Object, error) {
	obj := read[K, P](t, text)
	return func(o *managed.ExtractOptions) (core.Object, error) {
		got, err := managed.Extract[K, P](obj, "m", o)
		return P(got), err
	}
}

func TestOwnersReturnsTheManagersOfAField(t *testing.T) {
	u := read[unstructured.Unstructured](t, deployment())
	for _, tc := range []struct {
		name, field string
		want        []string
	}{
		{"one", ".spec.replicas", []string{"scaler"}},
		{"an element of a list", `.spec.template.spec.containers[name="main"].image`, []string{"web"}},
		{"several", ".spec.paused", []string{"old", "strange"}},
		{"the owner of a nested field is not an owner", ".spec", nil},
		{"no manager", ".spec.minReadySeconds", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			owners, err := managed.Owners(u, tc.field)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, owner := range owners {
				got = append(got, owner.Manager)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("Owners (-want +got):\n%s", diff)
			}
		})
	}
	if _, err := managed.Owners(new(corev1.Pod), ".spec"); err == nil || !strings.Contains(err.Error(), "get it from the server") {
		t.Errorf("Owners of an object from a cache: error %v", err)
	}
	if _, err := managed.Owners(new(corev1.Pod), "spec"); err == nil || !strings.Contains(err.Error(), "starts with a dot") {
		t.Errorf("Owners of an invalid path: error %v", err)
	}
}

// FuzzExtract checks that no managed fields make Extract panic.
func FuzzExtract(f *testing.F) {
	f.Add(`{"f:spec":{"f:l":{"k:{\"name\":\"a\"}":{"f:v":{}},"v:1":{},"i:0":{}}}}`, `{"l":[{"name":"a","v":1},1,[]]}`)
	f.Add(`{"f:spec":{"f:l":{"i:0":{"v:1":{}}}}}`, `{"l":[[1,2]]}`)
	f.Add(`{"i:0":{}}`, `{}`)
	f.Fuzz(func(t *testing.T, fields, spec string) {
		u := new(unstructured.Unstructured)
		body := `{"apiVersion":"v1","kind":"X","metadata":{"name":"x","managedFields":[` + entry("m", "Apply", "v1", "", fields) + `]},"spec":` + spec + `}`
		if err := wire.Unmarshal([]byte(body), "application/json", u); err != nil {
			return // not an input of the function
		}
		got, err := managed.Extract(u, "m", nil)
		if err == nil && (got.GetName() != "x" || got.GetKind() != "X") {
			t.Errorf("Extract = %v", got)
		}
	})
}
