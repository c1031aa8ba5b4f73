// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/internal/testserver"
	"github.com/kube-go/sdk/core"
)

const (
	webPath = "/api/v1/namespaces/prod/configmaps/web"
	webJSON = `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"web","namespace":"prod"},` +
		`"data":{"color":"green","size":"1"},"binaryData":{"b":"AAAA"}}`
)

func paint(color string) func(*leanConfigMap) error {
	return func(cm *leanConfigMap) error {
		cm.Data["color"] = color
		return nil
	}
}

// TestModifyPatchesTheDifference checks that Modify sends the difference to the version that it has read.
func TestModifyPatchesTheDifference(t *testing.T) {
	tests := []struct {
		name      string
		change    func(*leanConfigMap) error
		wantPatch string // empty: no patch
	}{
		{"a changed field", paint("blue"), `{"data":{"color":"blue"},"metadata":{"resourceVersion":"1"}}`},
		{"a removed field", func(cm *leanConfigMap) error {
			delete(cm.Data, "color")
			return nil
		}, `{"data":{"color":null},"metadata":{"resourceVersion":"1"}}`},
		{"metadata", func(cm *leanConfigMap) error {
			cm.Labels = map[string]string{"a": "b"}
			return nil
		}, `{"metadata":{"labels":{"a":"b"},"resourceVersion":"1"}}`},
		{"all fields removed", func(cm *leanConfigMap) error {
			cm.Data = nil
			return nil
		}, `{"data":null,"metadata":{"resourceVersion":"1"}}`},
		{"nothing changes", paint("green"), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newShelf(t, map[string]string{webPath: webJSON})
			got, err := client.Namespaced[leanConfigMap](s.Client(t), "prod").Modify(t.Context(), "web", tt.change, nil)
			if err != nil {
				t.Fatal(err)
			}
			var patch strings.Builder
			for _, ask := range s.Asked()[1:] {
				patch.WriteString(ask.Body)
			}
			if patch.String() != tt.wantPatch {
				t.Errorf("patch = %s, want %s", patch.String(), tt.wantPatch)
			}
			want := &leanConfigMap{Data: map[string]string{"color": "green", "size": "1"}}
			if err := tt.change(want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want.Data, got.Data); diff != "" {
				t.Errorf("data (-want +got):\n%s", diff)
			}
			if s.web()["binaryData"] == nil {
				t.Error("Modify removed a field that the type does not declare")
			}
		})
	}
}

// TestModifyWorksForAllTypes changes a field of a kind of k8s.io/api and of an unstructured object.
func TestModifyWorksForAllTypes(t *testing.T) {
	s := newShelf(t, map[string]string{webPath: webJSON})
	typed := client.Namespaced[corev1.ConfigMap](s.Client(t), "prod")
	_, err := typed.Modify(t.Context(), "web", func(cm *corev1.ConfigMap) error {
		cm.Data["color"] = "red"
		return nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	dynamic := client.Dynamic(s.Client(t), configMaps).In("prod")
	_, err = dynamic.Modify(t.Context(), "web", func(u *unstructured.Unstructured) error {
		return unstructured.SetNestedField(u.Object, "2", "data", "size")
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"color": "red", "size": "2"}
	if diff := cmp.Diff(any(want), s.web()["data"]); diff != "" {
		t.Errorf("data (-want +got):\n%s", diff)
	}
	var bodies []string
	for _, ask := range s.Asked() {
		if ask.Method == http.MethodPatch {
			bodies = append(bodies, ask.Body)
		}
	}
	wantBodies := []string{
		`{"data":{"color":"red"},"metadata":{"resourceVersion":"1"}}`,
		`{"data":{"size":"2"},"metadata":{"resourceVersion":"2"}}`,
	}
	if diff := cmp.Diff(wantBodies, bodies); diff != "" {
		t.Errorf("patches (-want +got):\n%s", diff)
	}
}

// TestModifyRepeatsAfterConflicts checks that the function is called again after a conflict, a limited number of times.
func TestModifyRepeatsAfterConflicts(t *testing.T) {
	tests := []struct {
		name      string
		rivals    int // the number of conflicting writes
		attempts  int
		wantCalls int
		wantErr   string
	}{
		{name: "no conflict", wantCalls: 1},
		{name: "two conflicts", rivals: 2, wantCalls: 3},
		{
			name: "endless conflicts", rivals: 1000, attempts: 3, wantCalls: 3,
			wantErr: "patch configmaps prod/web: after 3 attempts: conflict: server said: the object has been modified",
		},
		{
			name: "one attempt only", rivals: 1, attempts: 1, wantCalls: 1,
			wantErr: "patch configmaps prod/web: conflict: server said: the object has been modified",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newShelf(t, map[string]string{webPath: webJSON})
			left := tt.rivals
			s.before = func(*http.Request) {
				if left--; left >= 0 {
					s.put(t, webPath, webJSON)
				}
			}
			calls := 0
			_, err := client.Namespaced[leanConfigMap](s.Client(t), "prod").Modify(t.Context(), "web", func(cm *leanConfigMap) error {
				calls++
				return paint("blue")(cm)
			}, &client.ModifyOptions{MaxAttempts: tt.attempts})
			if text(err) != tt.wantErr || calls != tt.wantCalls {
				t.Errorf("error = %v after %d calls, want %q after %d", err, calls, tt.wantErr, tt.wantCalls)
			}
			if err != nil && !errors.Is(err, core.ErrConflict) {
				t.Error("the error is not ErrConflict")
			}
		})
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestModifyRejectsInvalidChanges checks that invalid changes are errors and write nothing.
func TestModifyRejectsInvalidChanges(t *testing.T) {
	deployment := `{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"web","namespace":"prod"},"status":{"replicas":1}}`
	const path = "/apis/apps/v1/namespaces/prod/deployments/web"
	sentinel := errors.New("the function failed")
	type change = func(*appsv1.Deployment) error
	tests := []struct {
		name    string
		sub     bool // modifies the status subresource
		object  string
		change  change
		o       *client.ModifyOptions
		wantErr string
	}{
		{
			"an error of the function", false, "web", func(*appsv1.Deployment) error { return sentinel }, nil,
			"modify deployments.apps prod/web: the function failed",
		},
		{
			"another name", false, "web", func(d *appsv1.Deployment) error { d.Name = "x"; return nil }, nil,
			"update deployments.apps prod/web: request not sent: metadata.name: was changed; write another object through an entry of its own",
		},
		{
			"another kind", false, "web", func(d *appsv1.Deployment) error { d.Kind = "x"; return nil }, nil,
			"update deployments.apps prod/web: request not sent: kind: was changed; an object stays of its kind",
		},
		{
			"the status, without the subresource", false, "web", func(d *appsv1.Deployment) error { d.Status.Replicas = 2; return nil }, nil,
			"update deployments.apps prod/web: request not sent: status: was changed, but is written through the subresource; use Status().Modify",
		},
		{
			"the spec, with the status subresource", true, "web", func(d *appsv1.Deployment) error { d.Spec.Paused = true; return nil }, nil,
			"update deployments.apps/status prod/web: request not sent: spec: was changed, but only the status is written through the subresource",
		},
		{
			"a negative number of attempts", false, "web", func(*appsv1.Deployment) error { return nil }, &client.ModifyOptions{MaxAttempts: -1},
			"modify deployments.apps prod/web: request not sent: ModifyOptions.MaxAttempts: is negative",
		},
		{
			"no such object", false, "other", func(*appsv1.Deployment) error { t.Error("called"); return nil }, nil,
			"get deployments.apps prod/other: not found",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newShelf(t, map[string]string{path: deployment})
			api := client.Namespaced[appsv1.Deployment](s.Client(t), "prod")
			modify := api.Modify
			if tt.sub {
				modify = api.Status().Modify
			}
			if _, err := modify(t.Context(), tt.object, tt.change, tt.o); text(err) != tt.wantErr {
				t.Errorf("error = %v, want %s", err, tt.wantErr)
			}
			if n := s.stored(); n != 1 {
				t.Errorf("%d writes, want none", n-1)
			}
		})
	}
	t.Run("the status is written through its subresource", func(t *testing.T) {
		s := newShelf(t, map[string]string{path: deployment})
		status := client.Namespaced[appsv1.Deployment](s.Client(t), "prod").Status()
		got, err := status.Modify(t.Context(), "web", func(d *appsv1.Deployment) error { d.Status.Replicas = 2; return nil }, nil)
		if err != nil || got.Status.Replicas != 2 {
			t.Fatalf("Modify = %v, %v", got, err)
		}
		if uri := s.Asked()[1].URI; uri != path+"/status" {
			t.Errorf("request to %s, want %s/status", uri, path)
		}
	})
}

// TestModifyEndsWithItsContext checks that the delay between two attempts ends with the context.
func TestModifyEndsWithItsContext(t *testing.T) {
	s := newShelf(t, map[string]string{webPath: webJSON})
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	s.before = func(*http.Request) {
		s.put(t, webPath, webJSON)
		if s.stored() > 3 {
			cancel(stopped)
		}
	}
	_, err := client.Namespaced[leanConfigMap](s.Client(t), "prod").Modify(ctx, "web", paint("blue"), &client.ModifyOptions{MaxAttempts: 1000})
	if op, ok := errors.AsType[*client.OpError](err); !ok || !errors.Is(err, stopped) {
		t.Errorf("error = %v (%T), want an OpError of %v", err, op, stopped)
	}
}

// TestCreateOrUpdateToleratesOtherWriters checks that an object gets the wanted state whether it existed or not, even
// if another client creates or deletes it at the same time.
func TestCreateOrUpdateToleratesOtherWriters(t *testing.T) {
	change := func(cm *leanConfigMap) error {
		cm.Data = map[string]string{"color": "blue"}
		return nil
	}
	rivals := map[string]func(*shelf){
		"no other client":           func(*shelf) {},
		"created by another client": func(s *shelf) { s.put(t, webPath, webJSON) },
		"deleted by another client": func(s *shelf) { s.remove(webPath) },
	}
	for rival, act := range rivals {
		for _, there := range []bool{true, false} {
			name := "missing, and " + rival
			if there {
				name = "existing, and " + rival
			}
			t.Run(name, func(t *testing.T) {
				s := newShelf(t, nil)
				if there {
					s.put(t, webPath, webJSON)
				}
				once := true
				s.before = func(*http.Request) {
					if once {
						act(s)
					}
					once = false
				}
				got, err := client.Namespaced[leanConfigMap](s.Client(t), "prod").CreateOrUpdate(t.Context(), "web", change, nil)
				if err != nil {
					t.Fatal(err)
				}
				if got.Name != "web" || got.Namespace != "prod" || got.Kind != "ConfigMap" || got.ResourceVersion == "" {
					t.Errorf("object = %+v", got)
				}
				want := map[string]any{"color": "blue"}
				if diff := cmp.Diff(any(want), s.web()["data"]); diff != "" {
					t.Errorf("data (-want +got):\n%s", diff)
				}
			})
		}
	}
	t.Run("an unchanged object is not written", func(t *testing.T) {
		s := newShelf(t, map[string]string{webPath: webJSON})
		cms := client.Namespaced[leanConfigMap](s.Client(t), "prod")
		for range 2 {
			if _, err := cms.CreateOrUpdate(t.Context(), "web", change, nil); err != nil {
				t.Fatal(err)
			}
		}
		if n := s.stored(); n != 2 {
			t.Errorf("%d writes, want 1", n-1)
		}
	})
	t.Run("a dry run creates and updates nothing", func(t *testing.T) {
		for _, objects := range []map[string]string{nil, {webPath: webJSON}} {
			s := newShelf(t, objects)
			cms := client.Namespaced[leanConfigMap](s.Client(t), "prod")
			o := &client.ModifyOptions{DryRun: true, FieldManager: "me", FieldValidation: metav1.FieldValidationStrict}
			if _, err := cms.CreateOrUpdate(t.Context(), "web", change, o); err != nil {
				t.Fatal(err)
			}
			if uri := s.Asked()[1].URI; !strings.HasSuffix(uri, "?dryRun=All&fieldManager=me&fieldValidation=Strict") {
				t.Errorf("request to %s", uri)
			}
		}
	})
}

// TestCreateOrUpdateDoesNotRepeatADenial has a webhook that denies with the code of a deleted object.
func TestCreateOrUpdateDoesNotRepeatADenial(t *testing.T) {
	s := testserver.New(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			testserver.Reply(w, 200, jsonType, configMapJSON(t, "web", "green"))
			return
		}
		testserver.Fail(w, 404, "", `admission webhook "v.example.com" denied the request: quota not found`)
	})
	cms := client.Namespaced[leanConfigMap](s.Client(t), "prod")
	_, err := cms.CreateOrUpdate(t.Context(), "web", func(cm *leanConfigMap) error {
		cm.Data = map[string]string{"color": "blue"}
		return nil
	}, nil)
	if n := len(s.Asked()); n != 2 || err == nil || !strings.HasSuffix(err.Error(), "quota not found") {
		t.Errorf("error after %d requests: %v, want that of the webhook after 2", n, err)
	}
}

// TestEntryReadsAndWritesAnObject checks the methods of an entry.
func TestEntryReadsAndWritesAnObject(t *testing.T) {
	s := newShelf(t, nil)
	cms := client.Namespaced[leanConfigMap](s.Client(t), "prod")
	entry, err := cms.Entry(t.Context(), "web", nil)
	if err != nil {
		t.Fatal(err)
	}
	if entry.Exists() || entry.Object() != nil {
		t.Errorf("the entry of a missing object has %v", entry.Object())
	}
	const nothing = "update configmaps prod/web: request not sent: object: is not there; insert one"
	if _, err := entry.Commit(t.Context(), nil); text(err) != nothing {
		t.Errorf("error = %v, want %s", err, nothing)
	}
	cm := entry.OrInsert(&leanConfigMap{Data: map[string]string{"color": "green"}})
	if cm.Name != "web" || cm.Namespace != "prod" {
		t.Errorf("name = %s/%s, want prod/web", cm.Namespace, cm.Name)
	}
	commit := func(wantWrites int) {
		t.Helper()
		stored, err := entry.Commit(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if n := s.stored(); n != wantWrites || stored != entry.Object() || !entry.Exists() {
			t.Errorf("%d writes, want %d; the entry has %v, want %v", n, wantWrites, entry.Object(), stored)
		}
	}
	commit(1) // creates
	commit(1) // no change
	if same := entry.OrInsert(&leanConfigMap{}); same != entry.Object() {
		t.Error("OrInsert replaced an existing object")
	}
	entry.Object().Data["color"] = "blue"
	commit(2)
	commit(2)
	if color := s.web()["data"].(map[string]any)["color"]; color != "blue" {
		t.Errorf("color = %v, want blue", color)
	}
	s.put(t, webPath, webJSON)
	entry.Object().Data["color"] = "red"
	if _, err := entry.Commit(t.Context(), nil); !errors.Is(err, core.ErrConflict) {
		t.Errorf("error = %v, want ErrConflict", err)
	}
}

// TestGetOrNilReturnsNilOnlyForAMissingObject checks that a kind that is not served is an error.
func TestGetOrNilReturnsNilOnlyForAMissingObject(t *testing.T) {
	s := newShelf(t, map[string]string{webPath: webJSON})
	cms := client.Namespaced[leanConfigMap](s.Client(t), "prod")
	if got, err := cms.GetOrNil(t.Context(), "web", nil); err != nil || got == nil || got.Name != "web" {
		t.Errorf("GetOrNil of an object = %v, %v", got, err)
	}
	if got, err := cms.GetOrNil(t.Context(), "other", nil); err != nil || got != nil {
		t.Errorf("GetOrNil of a missing object = %v, %v, want nil, nil", got, err)
	}
	unknown := testserver.New(t, func(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) })
	got, err := client.Namespaced[leanConfigMap](unknown.Client(t), "prod").GetOrNil(t.Context(), "web", nil)
	if _, ok := errors.AsType[*client.NotServedError](err); !ok || got != nil {
		t.Errorf("GetOrNil of an unknown kind = %v, %v, want a NotServedError", got, err)
	}
	aggregated := testserver.New(t, func(w http.ResponseWriter, _ *http.Request) {
		testserver.Fail(w, 404, metav1.StatusReasonNotFound, "the server could not find the metric queue_length for pods")
	})
	got, err = client.Namespaced[leanConfigMap](aggregated.Client(t), "prod").GetOrNil(t.Context(), "web", nil)
	if err != nil || got != nil {
		t.Errorf("GetOrNil of an object that an aggregated server does not have = %v, %v, want nil, nil", got, err)
	}
}
