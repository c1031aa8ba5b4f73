// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/kube-go/sdk/core/abi"
)

func TestRequestsNeedThePermissionsOfTheServer(t *testing.T) {
	for _, tt := range []struct{ method, url, want string }{
		{"GET", "/api/v1/pods", " pods list"},
		{"GET", "/api/v1/pods?watch=true", " pods watch"},
		{"GET", "/api/v1/namespaces/n/pods/web", " pods get"},
		{"GET", "/api/v1/namespaces/n/pods/web/log?follow=true", " pods/log get"},
		{"POST", "/api/v1/namespaces/n/pods", " pods create"},
		{"PUT", "/apis/apps/v1/namespaces/n/deployments/web", "apps deployments update"},
		{"PATCH", "/apis/apps/v1/namespaces/n/deployments/web/status", "apps deployments/status patch"},
		{"DELETE", "/apis/apps/v1/namespaces/n/deployments/web", "apps deployments delete"},
		{"DELETE", "/apis/apps/v1/namespaces/n/deployments", "apps deployments deletecollection"},
		{"GET", "/api/v1/namespaces/n", " namespaces get"},
		{"PATCH", "/api/v1/namespaces/n/status", " namespaces/status patch"},
		{"GET", "/apis/apps/v1", "  "},
		{"GET", "/version", "  "},
	} {
		group, resource, verb := usedBy(tt.method, tt.url)
		if got := group + " " + resource + " " + verb; got != tt.want {
			t.Errorf("usedBy(%s, %s) = %q, want %q", tt.method, tt.url, got, tt.want)
		}
	}
}

// TestRulesOfAReconciler checks the permissions for what the host does for a reconciler.
func TestRulesOfAReconciler(t *testing.T) {
	task := values(`{"apiVersion":"a.test/v1","kind":"Task","metadata":{"name":"a"}}`)[0]
	const description = `{"profile":"reconciler","controllers":[{"for":{"group":"a.test","version":"v1","kind":"Task",
		"resource":"tasks"},"owns":[{"group":"a.test","version":"v1","kind":"Sheep","resource":"sheep"}]}]}`
	for _, tt := range []struct {
		name, description string
		owned             []jsontext.Value
		runs              []abi.ReconcileResponse
		want              []abi.Rule
	}{
		{
			name: "watches", description: description,
			runs: []abi.ReconcileResponse{{}, {Error: "not yet"}},
			want: []abi.Rule{rule("a.test", "sheep", "list", "watch"), rule("a.test", "tasks", "list", "watch")},
		},
		{
			name: "what runs return", description: description,
			runs: []abi.ReconcileResponse{
				{Apply: values(`{"apiVersion":"a.test/v1","kind":"Sheep"}`, `{"apiVersion":"v1","kind":"ConfigMap"}`)},
				{Delete: []abi.Reference{{APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy", Name: "a"}}},
				{Status: []byte(`{}`), Events: []abi.Event{{Reason: "Done"}}},
			},
			want: []abi.Rule{
				rule("", "configmaps", "create", "patch"), rule("a.test", "sheep", "create", "list", "patch", "watch"),
				rule("a.test", "tasks", "list", "watch"), rule("a.test", "tasks/finalizers", "update"),
				rule("a.test", "tasks/status", "patch"), rule("events.k8s.io", "events", "create", "patch"),
				rule("networking.k8s.io", "networkpolicies", "delete"),
			},
		},
		{
			name: "references of the guest", description: description,
			runs: []abi.ReconcileResponse{{Apply: values(`{"apiVersion":"a.test/v1","kind":"Sheep","metadata":{
				"ownerReferences":[{"apiVersion":"v1","kind":"Pod","blockOwnerDeletion":true},
				{"apiVersion":"v1","kind":"Node"}]}}`)}},
			want: []abi.Rule{
				rule("", "pods/finalizers", "update"), rule("a.test", "sheep", "create", "list", "patch", "watch"),
				rule("a.test", "tasks", "list", "watch"),
			},
		},
		{
			name: "no description", description: "null", owned: values(`{"apiVersion":"a.test/v1","kind":"City"}`),
			runs: []abi.ReconcileResponse{{Status: []byte(`{}`)}},
			want: []abi.Rule{
				rule("a.test", "cities", "list", "watch"), rule("a.test", "tasks", "list", "watch"),
				rule("a.test", "tasks/status", "patch"),
			},
		},
		{
			name: "no description, and an object like one that a run owns", description: "null",
			owned: values(`{"apiVersion":"a.test/v1","kind":"City"}`),
			runs: []abi.ReconcileResponse{{Apply: values(
				`{"apiVersion":"a.test/v2","kind":"City"}`, `{"apiVersion":"v1","kind":"ConfigMap"}`)}},
			want: []abi.Rule{
				rule("", "configmaps", "create", "patch"), rule("a.test", "cities", "create", "list", "patch", "watch"),
				rule("a.test", "tasks", "list", "watch"), rule("a.test", "tasks/finalizers", "update"),
			},
		},
		{
			name: "a kind that another controller owns",
			description: `{"profile":"reconciler","controllers":[{"for":{"group":"a.test","version":"v1","kind":"Task",
				"resource":"tasks"}},{"name":"other","for":{"version":"v1","kind":"Pod","resource":"pods"},
				"owns":[{"version":"v1","kind":"ConfigMap","resource":"configmaps"}]}]}`,
			runs: []abi.ReconcileResponse{{Apply: values(`{"apiVersion":"v1","kind":"ConfigMap"}`)}},
			want: []abi.Rule{
				rule("", "configmaps", "create", "list", "patch", "watch"), rule("", "pods", "list", "watch"),
				rule("a.test", "tasks", "list", "watch"),
			},
		},
		{
			name: "invalid messages", description: `[]`,
			runs: []abi.ReconcileResponse{{Apply: values(`{}`, `1`), Delete: []abi.Reference{{Name: "a"}}}},
			want: []abi.Rule{rule("a.test", "tasks", "list", "watch")},
		},
		{
			name: "an actor", description: `{"profile":"actor","controllers":[{"for":{"resource":"tasks"}}]}`, want: []abi.Rule{},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var b bytes.Buffer
			tape := newTape(&b, room(), cover{})
			call := func(e *export, result []byte) {
				tape.output(frameExport, marshal(e))
				tape.output(frameResult, result)
			}
			call(&export{Name: abi.Describe}, []byte(tt.description))
			for _, run := range tt.runs {
				message := marshal(&abi.ReconcileRequest{Name: "a", Object: task, Owned: tt.owned})
				call(&export{Name: abi.Reconcile, Message: message}, marshal(&run))
			}
			if err := tape.close(); err != nil {
				t.Fatal(err)
			}
			rules, err := Rules(&b)
			if diff := cmp.Diff(tt.want, rules); err != nil || diff != "" {
				t.Errorf("Rules: %v, (-want +got)\n%s", err, diff)
			}
		})
	}
}

// TestRulesOfAnApply checks that an apply that has created an object needs a further permission.
func TestRulesOfAnApply(t *testing.T) {
	const request = `{"method":"PATCH","url":"/api/v1/namespaces/n/configmaps/a"}`
	for _, tt := range []struct {
		status int
		want   abi.Rule
	}{
		{200, rule("", "configmaps", "patch")},
		{201, rule("", "configmaps", "create", "patch")},
		{403, rule("", "configmaps", "patch")},
	} {
		id := binary.LittleEndian.AppendUint64(nil, 7)
		head := marshal(abi.Response{Status: tt.status})
		for name, frames := range map[string][]any{
			"submitted": {
				frameSubmit, append([]byte("1 7 "), abi.AppendFrame(nil, []byte(request))...), frameID, id,
				frameExport, marshal(&export{Name: abi.Wake, ID: 7, Message: head}),
			},
			"called": {
				frameCall, append([]byte("1 "), abi.AppendFrame(nil, []byte(request))...),
				frameAnswer, abi.AppendFrame(make([]byte, 8), head),
			},
		} {
			var b bytes.Buffer
			tape := newTape(&b, room(), cover{})
			for i := 0; i < len(frames); i += 2 {
				tape.output(frames[i].(frame), frames[i+1].([]byte))
			}
			if err := tape.close(); err != nil {
				t.Fatal(err)
			}
			rules, err := Rules(&b)
			if diff := cmp.Diff([]abi.Rule{tt.want}, rules); err != nil || diff != "" {
				t.Errorf("%s with status %d: %v, (-want +got)\n%s", name, tt.status, err, diff)
			}
		}
	}
}

// TestRequestWithoutAMethodIsARead has a request that hosts send with the method GET.
func TestRequestWithoutAMethodIsARead(t *testing.T) {
	var b bytes.Buffer
	tape := newTape(&b, room(), cover{})
	request := abi.AppendFrame(nil, []byte(`{"url":"/api/v1/namespaces/n/configmaps/a"}`))
	tape.output(frameCall, append([]byte("1 "), request...))
	tape.output(frameAnswer, make([]byte, 8))
	if err := tape.close(); err != nil {
		t.Fatal(err)
	}
	rules, err := Rules(bytes.NewReader(b.Bytes()))
	if diff := cmp.Diff([]abi.Rule{rule("", "configmaps", "get")}, rules); err != nil || diff != "" {
		t.Errorf("Rules: %v, (-want +got)\n%s", err, diff)
	}
	s, err := readScript(&b)
	if err != nil {
		t.Fatal(err)
	}
	for key, all := range s.asked {
		if all[0].write {
			t.Errorf("%q is a write", key)
		}
	}
}

// TestRulesOfAReferenceToAnOwner has an actor that creates an object with an owner whose deletion waits for it.
func TestRulesOfAReferenceToAnOwner(t *testing.T) {
	const request = `{"method":"POST","url":"/api/v1/namespaces/n/configmaps"}`
	const body = `{"metadata":{"ownerReferences":[
		{"apiVersion":"apps/v1","kind":"Deployment","blockOwnerDeletion":true}]}}`
	var b bytes.Buffer
	tape := newTape(&b, room(), cover{})
	tape.output(frameCall, append(append([]byte("1 "), abi.AppendFrame(nil, []byte(request))...), body...))
	tape.output(frameAnswer, make([]byte, 8))
	if err := tape.close(); err != nil {
		t.Fatal(err)
	}
	rules, err := Rules(&b)
	want := []abi.Rule{rule("", "configmaps", "create"), rule("apps", "deployments/finalizers", "update")}
	if diff := cmp.Diff(want, rules); err != nil || diff != "" {
		t.Errorf("Rules: %v, (-want +got)\n%s", err, diff)
	}
}

func rule(group, resource string, verbs ...string) abi.Rule {
	return abi.Rule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
}

func values(all ...string) []jsontext.Value {
	values := make([]jsontext.Value, len(all))
	for i, text := range all {
		values[i] = jsontext.Value(text)
	}
	return values
}
