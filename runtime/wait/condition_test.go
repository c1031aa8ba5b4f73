// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wait_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/internal/fakeapi"
	"github.com/kube-go/sdk/runtime/wait"
)

func decode[K any](t testing.TB, data string) *K {
	t.Helper()
	obj := new(K)
	if err := wire.UnmarshalJSON([]byte(data), obj); err != nil {
		t.Fatal(err)
	}
	return obj
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestStatusConditionChecksStatusAndGeneration(t *testing.T) {
	tests := []struct {
		name, in string
		status   metav1.ConditionStatus // default: True
		want     string                 // the error; empty: the condition holds
	}{
		{
			name: "true", in: `{"status": {"conditions": [{"type": "Other", "status": "False"}, {"type": "Ready", "status": "True"}]}}`,
		},
		{
			name: "false, with a reason and a message",
			in:   `{"status": {"conditions": [{"type": "Ready", "status": "False", "reason": "Rendering", "message": "3 of 5 pages"}]}}`,
			want: "condition Ready is False: Rendering: 3 of 5 pages",
		},
		{
			name: "false, without a reason", in: `{"status": {"conditions": [{"type": "Ready", "status": "False"}]}}`,
			want: "condition Ready is False",
		},
		{
			name: "false as wanted", status: metav1.ConditionFalse, in: `{"status": {"conditions": [{"type": "Ready", "status": "False"}]}}`,
		},
		{
			name: "types and statuses in another case, as in kubectl wait",
			in:   `{"status": {"conditions": [{"type": "READY", "status": "true"}]}}`,
		},
		{
			name: "a status wanted in another case", status: "false",
			in: `{"status": {"conditions": [{"type": "Ready", "status": "False"}]}}`,
		},
		{
			name: "unknown, but wanted false", status: metav1.ConditionFalse,
			in:   `{"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}`,
			want: "condition Ready is Unknown",
		},
		{name: "only another condition", in: `{"status": {"conditions": [{"type": "Other", "status": "True"}]}}`, want: "condition Ready is missing"},
		{name: "no status", in: `{"metadata": {"name": "a"}}`, want: "condition Ready is missing"},
		{
			name: "true for an older generation",
			in: `{"metadata": {"generation": 4}, "status": {"observedGeneration": 4,
				"conditions": [{"type": "Ready", "status": "True", "observedGeneration": 3}]}}`,
			want: "condition Ready was observed of generation 3, but the object has generation 4",
		},
		{
			name: "a status of an older generation",
			in: `{"metadata": {"generation": 4}, "status": {"observedGeneration": 3,
				"conditions": [{"type": "Ready", "status": "True"}]}}`,
			want: "condition Ready was observed of generation 3, but the object has generation 4",
		},
		{
			name: "true for the present generation, with an older status",
			in: `{"metadata": {"generation": 4}, "status": {"observedGeneration": 3,
				"conditions": [{"type": "Ready", "status": "True", "observedGeneration": 4}]}}`,
		},
		{
			name: "no observed generation",
			in:   `{"metadata": {"generation": 4}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			status := tt.status
			if status == "" {
				status = metav1.ConditionTrue
			}
			if got := wait.StatusCondition[document]("Ready", status)(decode[document](t, tt.in)); message(got) != tt.want {
				t.Errorf("error for a struct = %v, want %q", got, tt.want)
			}
			u := &unstructured.Unstructured{Object: *decode[map[string]any](t, tt.in)}
			u.SetAPIVersion("docs.example.com/v1")
			u.SetKind("Document")
			if got := wait.StatusCondition[unstructured.Unstructured]("Ready", status)(u); message(got) != tt.want {
				t.Errorf("error for an unstructured object = %v, want %q", got, tt.want)
			}
		})
	}
}

// The Rollout of Argo declares status.observedGeneration as a string:
// https://github.com/argoproj/argo-rollouts/blob/master/pkg/apis/rollouts/v1alpha1/types.go.
func TestObservedGenerationMayBeAString(t *testing.T) {
	tests := []struct{ name, observed, want string }{
		{"current", `"3"`, ""},
		{"outdated", `"2"`, "the status is of generation 2, but the object has generation 3"},
		{"a hash, which counts as unknown", `"5d4f"`, ""},
		{"null", `null`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rollout := decode[unstructured.Unstructured](t, `{
				"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "metadata": {"name": "web", "generation": 3},
				"status": {"observedGeneration": `+tt.observed+`, "conditions": [{"type": "Available", "status": "True"}]}
			}`)
			if got := message(wait.Ready(rollout)); got != tt.want {
				t.Errorf("Ready() = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestStatusConditionFailsForATypeWithoutConditions(t *testing.T) {
	err := wait.StatusCondition[bare]("Ready", metav1.ConditionTrue)(&bare{})
	if err == nil || err.Error() != "the type wait_test.bare declares no status.conditions: wait with a "+
		"type that does, or with unstructured.Unstructured" {
		t.Errorf("error = %v", err)
	}
	s := &server{}
	s.put(doc("u1", ""))
	if _, err := wait.Await(t.Context(), client.Namespaced[bare](fakeapi.ClientOf(s), "prod"), "a", wait.StatusCondition[bare]("Ready", metav1.ConditionTrue), nil); err == nil {
		t.Error("Await() = nil, want an error at once")
	}
}

func TestStatusConditionFailsForConditionsOfAnotherShape(t *testing.T) {
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Odd", "status": map[string]any{"conditions": "none"},
	}}
	err := wait.StatusCondition[unstructured.Unstructured]("Ready", metav1.ConditionTrue)(u)
	if !strings.HasPrefix(message(err), "read the conditions: status.conditions: ") {
		t.Errorf("error = %v", err)
	}
}

// TestJSONPathComparesOneValue checks the condition with structs, lean types and unstructured objects.
func TestJSONPathComparesOneValue(t *testing.T) {
	const in = `{"apiVersion": "docs.example.com/v1", "kind": "Document", "metadata": {"name": "a", "generation": 3},
		"status": {"phase": "Pending", "observedGeneration": 2, "conditions": [
			{"type": "Ready", "status": "False", "reason": "Rendering"},
			{"type": "Synced", "status": "True", "reason": " Found\n"}]}}`
	for _, tt := range []struct{ path, value, want string }{
		{"{.status.phase}", "Pending", ""},
		{"{.status.phase}", "", ""},
		{"{.status.phase}", " Pending\n", ""},
		{`{.status.conditions[?(@.type=="Synced")].reason}`, "Found", ""},
		{"{.status.phase}", "pending", `{.status.phase} is "Pending", want "pending"`},
		{"{.status.phase}", "Running", `{.status.phase} is "Pending", want "Running"`},
		{"{.status.observedGeneration}", "2", ""},
		{"{.status.observedGeneration}", "3", `{.status.observedGeneration} is "2", want "3"`},
		{`{.status.conditions[?(@.type=="Ready")].reason}`, "Rendering", ""},
		{`{.status.conditions[?(@.type=="Other")].reason}`, "Rendering", `{.status.conditions[?(@.type=="Other")].reason} does not exist`},
		{"{.metadata.annotations.a}", "b", "{.metadata.annotations.a} does not exist"},
		{"{.status.conditions[7].type}", "", "{.status.conditions[7].type} does not exist"},
		{"{.status.conditions}", "", ""},
		{"{.status.conditions}", "x", "{.status.conditions} is an object or a list: want a path to a string, a number or a boolean"},
		{`{.status.conditions[?(@.type!="x")].status}`, "True", `{.status.conditions[?(@.type!="x")].status} matches 2 values: want a path to one`},
		{"{.status.phase", "x", `JSON path "{.status.phase": the closing } is missing`},
	} {
		t.Run(tt.path+"="+tt.value, func(t *testing.T) {
			got := message(wait.JSONPath[document](tt.path, tt.value)(decode[document](t, in)))
			if got != tt.want {
				t.Errorf("error for a struct = %q, want %q", got, tt.want)
			}
			got = message(wait.JSONPath[unstructured.Unstructured](tt.path, tt.value)(decode[unstructured.Unstructured](t, in)))
			if got != tt.want {
				t.Errorf("error for an unstructured object = %q, want %q", got, tt.want)
			}
		})
	}
}

// TestJSONPathComparesNumbersInTheirJSONForm checks numbers that fmt prints with an exponent.
func TestJSONPathComparesNumbersInTheirJSONForm(t *testing.T) {
	for _, number := range []string{"3", "0.5", "1234567.5", "-20000000.25", "0.00001", "1e+21"} {
		obj := decode[unstructured.Unstructured](t, `{"apiVersion": "docs.example.com/v1", "kind": "Document",
			"spec": {"items": [{"name": "a", "size": `+number+`}]}}`)
		for _, path := range []string{"{.spec.items[0].size}", "{.spec.items[?(@.size==" + number + ")].size}"} {
			if got := message(wait.JSONPath[unstructured.Unstructured](path, number)(obj)); got != "" {
				t.Errorf("JSONPath(%s, %s) = %s, want no error", path, number, got)
			}
		}
	}
}

// TestJSONPathFailsForAFieldThatTheTypeDoesNotDeclare checks that a wait for a misspelt field, or one that a lean type
// omits, ends at once.
func TestJSONPathFailsForAFieldThatTheTypeDoesNotDeclare(t *testing.T) {
	for _, path := range []string{"{.status.fase}", "{.spec.replicas}", "{.status.conditions[0].kind}", "{.status.conditions[?(@.type=='a')].kind}"} {
		s := &server{}
		s.put(doc("u1", "Pending"))
		_, err := wait.Await(t.Context(), s.docs(t), "a", wait.JSONPath[document](path, "x"), nil)
		if want := "the type wait_test.document declares no " + path + ": "; !strings.Contains(message(err), want) {
			t.Errorf("Await(%s) = %v, want %q", path, err, want)
		}
	}
	// The types of these fields are neither strings nor absent.
	for _, path := range []string{"{.status.observedGeneration}", "{.metadata.creationTimestamp}", "{.metadata.labels}", "{.metadata.ownerReferences[0].uid}"} {
		if got := message(wait.JSONPath[document](path, "")(&document{})); strings.Contains(got, "declares") {
			t.Errorf("%s: %s", path, got)
		}
	}
	// Types of other kinds have the fields of Kubernetes.
	if got := message(wait.JSONPath[corev1.Service]("{.status.loadBalancer.ingress[0].ip}", "")(&corev1.Service{})); got !=
		"{.status.loadBalancer.ingress[0].ip} does not exist" {
		t.Errorf("JSONPath of a Service = %q", got)
	}
}
