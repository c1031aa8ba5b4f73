// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package fields_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/kubetest/internal/fields"
)

func newManager(t *testing.T) *fields.Manager {
	t.Helper()
	m, err := fields.New(schemas(t), schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, nil)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	return m
}

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	if err := obj.UnmarshalJSON([]byte(text)); err != nil {
		t.Fatalf("decode %s: %v", text, err)
	}
	return obj
}

func configMap(t *testing.T, data string) *unstructured.Unstructured {
	t.Helper()
	return object(t, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","uid":"u"},"data":`+data+`}`)
}

func TestNewRefusesKindsWithoutSchema(t *testing.T) {
	t.Parallel()
	_, err := fields.New(schemas(t), schema.GroupVersionKind{Version: "v1", Kind: "Unknown"}, nil)
	if err == nil || !strings.Contains(err.Error(), "no schema of /v1, Kind=Unknown") {
		t.Errorf("New(Unknown) = %v, want an error that names the kind", err)
	}
}

func TestOldEntriesAreMergedAndTimesAreThoseOfTheBubble(t *testing.T) {
	t.Parallel()
	m := newManager(t)
	synctest.Test(t, func(t *testing.T) {
		live := m.Update(nil, configMap(t, `{"k":"v"}`), "", "creator")
		for i := range 12 {
			<-time.After(time.Second)
			obj := live.DeepCopy()
			if err := unstructured.SetNestedField(obj.Object, "v", "data", fmt.Sprintf("k%02d", i)); err != nil {
				t.Fatal(err)
			}
			live = m.Update(live, obj, "", fmt.Sprintf("m%02d", i))
		}
		var got []string
		for _, entry := range live.GetManagedFields() {
			got = append(got, entry.Manager+" "+entry.Time.UTC().Format(time.TimeOnly))
		}
		want := []string{
			"ancient-changes 00:00:03", "m03 00:00:04", "m04 00:00:05", "m05 00:00:06", "m06 00:00:07", "m07 00:00:08",
			"m08 00:00:09", "m09 00:00:10", "m10 00:00:11", "m11 00:00:12",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("managers differ (-want +got):\n%s", diff)
		}
	})
}

func TestKeepTimesRestoresTimesOfUnchangedObjects(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, applied string
		kept          bool
	}{
		{"nothing changes", `{"k":"v"}`, true},
		{"a value changes", `{"k":"w"}`, false},
		{"a field is added", `{"k":"v","l":"w"}`, false},
	}
	m := newManager(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				live, err := m.Apply(nil, configMap(t, `{"k":"v"}`), "", "one", false)
				if err != nil {
					t.Fatalf("Apply() = %v", err)
				}
				<-time.After(time.Minute)
				obj, err := m.Apply(live, configMap(t, tt.applied), "", "one", false)
				if err != nil {
					t.Fatalf("Apply() = %v", err)
				}
				obj.SetManagedFields(touch(obj, time.Now()))
				fields.KeepTimes(live, obj)
				if got := cmp.Equal(live.Object, obj.Object); got != tt.kept {
					t.Errorf("objects are equal = %v, want %v: %s", got, tt.kept, cmp.Diff(live.Object, obj.Object))
				}
			})
		})
	}
}

// touch returns the managed fields of an object as if they had been written at a time.
func touch(obj *unstructured.Unstructured, at time.Time) []metav1.ManagedFieldsEntry {
	entries := obj.GetManagedFields()
	for i := range entries {
		entries[i].Time = &metav1.Time{Time: at}
	}
	return entries
}

func TestManagersAreUsedConcurrentlyAndChangeNoArguments(t *testing.T) {
	t.Parallel()
	m := newManager(t)
	live := m.Update(nil, configMap(t, `{"k":"v"}`), "", "creator")
	config, patch := configMap(t, `{"k":"w","l":"m"}`), []byte(`{"data":{"k":null}}`)
	wantLive, wantConfig := live.DeepCopy(), config.DeepCopy()
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if _, err := m.Apply(live, config, "", "one", true); err != nil {
				t.Errorf("Apply() = %v", err)
			}
			m.Update(live, config, "", "two")
			for _, name := range []string{"merge", "strategic"} {
				if _, err := m.Patch(live.Object, patchTypes(name), patch, ""); err != nil {
					t.Errorf("Patch(%s) = %v", name, err)
				}
			}
		})
	}
	group.Wait()
	if diff := cmp.Diff([]any{wantLive.Object, wantConfig.Object}, []any{live.Object, config.Object}); diff != "" {
		t.Errorf("arguments changed (-before +after):\n%s", diff)
	}
}

func TestJSONPatchesAreLimited(t *testing.T) {
	t.Parallel()
	m := newManager(t)
	operation := `{"op":"test","path":"/kind","value":"ConfigMap"}`
	patch := "[" + strings.Repeat(operation+",", 10000) + operation + "]"
	_, err := m.Patch(configMap(t, `{}`).Object, patchTypes("json"), []byte(patch), "")
	status, ok := errors.AsType[*core.StatusError](err)
	if !ok || status.Status.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("Patch() of 10001 operations = %v, want status 413", err)
	}
}
