// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package differential_test

import (
	"errors"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/jsonpath"

	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/wait"
)

// kubectl is the condition of kubectl wait --for=jsonpath: whether it holds, or the error that ends the wait.
func kubectl(path, value string, obj map[string]any) (bool, error) {
	j := jsonpath.New("wait").AllowMissingKeys(true)
	if err := j.Parse(path); err != nil {
		return false, err
	}
	results, err := j.FindResults(obj)
	if err != nil || len(results) == 0 || len(results[0]) == 0 {
		return false, err
	}
	if len(results) > 1 || len(results[0]) > 1 {
		return false, errors.New("several values")
	}
	if value == "" {
		return true, nil
	}
	found := results[0][0].Interface()
	switch found.(type) {
	case map[string]any, []any:
		return false, errors.New("an object or a list")
	}
	return fmt.Sprint(found) == value, nil
}

// TestJSONPathsAreThoseOfKubectl compares whether conditions hold.
func TestJSONPathsAreThoseOfKubectl(t *testing.T) {
	const doc = `{
		"apiVersion": "example.com/v1", "kind": "Widget",
		"metadata": {"name": "a", "annotations": {"example.com/a": "dotted"}},
		"spec": {"replicas": 3, "paused": false, "share": 0.5},
		"status": {"phase": "Running", "one": [{"n": 7}], "conditions": [
			{"type": "Ready", "status": "True", "n": 1, "at": {"node": "x"}},
			{"type": "Synced", "status": "True", "n": 2},
			{"type": "Late", "status": "False", "n": 3, "only": "here"}]}}`
	var content map[string]any
	if err := wire.UnmarshalJSON([]byte(doc), &content); err != nil {
		t.Fatal(err)
	}
	obj := &unstructured.Unstructured{Object: content}
	for _, path := range []string{
		"{.status.phase}", "{$.status.phase}", "{.status['phase']}", `{.metadata.annotations.example\.com/a}`,
		"{.spec.replicas}", "{.spec.share}", "{.spec.paused}", "{.spec.missing}", "{.spec}", "{.status.conditions}",
		"{.status.conditions[0].type}", "{.status.conditions[-1].type}", "{.status.conditions[*].type}",
		"{.status.conditions[*].only}", "{.status.one[*].n}", "{.status.one.*.n}", "{.status.conditions[1:2].type}",
		"{.status.conditions[0:2].type}", "{.status.conditions[2:].type}", "{.status.conditions[:1].type}",
		"{.status.conditions[0:3:3].type}", "{.status.conditions[0,1].type}", "{.status.conditions[0,1].at.node}",
		"{.status['phase','missing']}", "{..phase}", "{..node}", "{.status..only}", "{..type}", "{..missing}",
		`{.status.conditions[?(@.type=="Ready")].status}`, `{.status.conditions[?(@.type!="Ready")].status}`,
		`{.status.conditions[?(@.n<2)].type}`, `{.status.conditions[?(@.n<=1)].type}`,
		`{.status.conditions[?(@.n>2)].type}`, `{.status.conditions[?(@.n>=3)].type}`,
		`{.status.conditions[?(@.n==2)].type}`, `{.status.conditions[?(@.type<"M")].n}`,
		`{.status.conditions[?(@.only)].type}`, `{.status.conditions[?(@.missing)].type}`,
		`{.status.one[?(@.missing!="x")].n}`, `{.status.conditions[?(@.only!="x")].type}`, `{.status.one[?(@.n!=Ready)].n}`,
		"{.a[0:1:0]}", "{.status.conditions[?(@.n=2)].type}", "{.status.conditions[}", "{.status.conditions[0:b]}", "{...a}",
	} {
		for _, value := range []string{
			"", "Running", "Ready", "Synced", "Late", "True", "x", "here", "1", "3", "7", "0.5", "false",
		} {
			want, wantErr := kubectl(path, value, content)
			if err := wait.JSONPath[unstructured.Unstructured](path, value)(obj); (err == nil) != want {
				t.Errorf("JSONPath(%q, %q) = %v, but kubectl has %v, %v", path, value, err, want, wantErr)
			}
		}
	}
}
