// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package machine_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core/machine"
)

const (
	name = "example.com/database"
	key  = "example.com/database.suspend"
)

// TestSuspendAndResume checks that an object has the suspension that was set, and none after Resume.
func TestSuspendAndResume(t *testing.T) {
	obj := &metav1.ObjectMeta{Annotations: map[string]string{"other": "kept"}}
	until := metav1.NewTime(time.Date(2026, 12, 1, 8, 0, 0, 0, time.UTC))
	want := machine.Suspension{Reason: "migration", By: "jane", Until: &until, WhenDeleted: machine.Proceed}
	if err := machine.Suspend(obj, name, want); err != nil {
		t.Fatal(err)
	}
	text := `{"reason":"migration","by":"jane","until":"2026-12-01T08:00:00Z","whenDeleted":"Proceed"}`
	if got := obj.Annotations[key]; got != text {
		t.Errorf("the annotation is %s, want %s", got, text)
	}
	got, err := machine.SuspensionOf(obj, name)
	if err != nil || got.Reason != want.Reason || got.By != want.By || !got.Until.Equal(&until) || got.WhenDeleted != want.WhenDeleted {
		t.Errorf("the suspension is %+v, %v", got, err)
	}
	machine.Resume(obj, name)
	if got, err := machine.SuspensionOf(obj, name); got != nil || err != nil || len(obj.Annotations) != 1 {
		t.Errorf("after Resume, the suspension is %+v, %v and the annotations are %v", got, err, obj.Annotations)
	}
	machine.Resume(new(metav1.ObjectMeta), name)
}

// TestSuspensionsAreParsedStrictly checks the errors of values that are not a suspension.
func TestSuspensionsAreParsedStrictly(t *testing.T) {
	for value, want := range map[string]string{
		``:                                    "EOF",
		`false`:                               "the value is not a JSON object",
		`"yes"`:                               "the value is not a JSON object",
		`null`:                                "the value is not a JSON object",
		`{}`:                                  "reason is missing",
		`{"by":"jane","whenDeleted":"Wait"}`:  "reason is missing",
		`{"reason":"r","whenDeleted":"Wait"}`: "by is missing",
		`{"reason":"r","by":"jane"}`:          `whenDeleted is "", want Wait or Proceed`,
		`{"reason":"r","by":"jane","whenDeleted":"wait"}`:                    `whenDeleted is "wait", want Wait or Proceed`,
		`{"reason":"r","by":"jane","whenDeleted":"Wait","until_":"2026"}`:    `the field "until_" is unknown or repeated`,
		`{"REASON":"r","by":"jane","whenDeleted":"Wait"}`:                    `the field "REASON" is unknown or repeated`,
		`{"reason":"r","reason":"s","by":"jane","whenDeleted":"Wait"}`:       `the field "reason" is unknown or repeated`,
		`{"reason":"r","by":"jane","whenDeleted":"Wait"`:                     "EOF",
		`{"reason":1,"by":"jane","whenDeleted":"Wait"}`:                      "field reason: json: cannot unmarshal number",
		`{"reason":"r","by":"jane","whenDeleted":"Wait","until":"tomorrow"}`: `parsing time "tomorrow"`,
		`{"reason":"r","by":"jane","whenDeleted":"Wait"} {}`:                 "there is more after the value",
		`{"reason":"r","by":"jane","whenDeleted":"Wait"} x`:                  "there is more after the value",
	} {
		obj := &metav1.ObjectMeta{Annotations: map[string]string{key: value}}
		got, err := machine.SuspensionOf(obj, name)
		if got != nil || err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "annotation "+key) {
			t.Errorf("%s: the suspension is %+v, %v, want an error with %q", value, got, err, want)
		}
	}
	obj := new(metav1.ObjectMeta)
	if err := machine.Suspend(obj, name, machine.Suspension{}); err == nil || obj.Annotations != nil {
		t.Errorf("Suspend without a reason: %v, %v", err, obj.Annotations)
	}
}

// FuzzSuspensionOf checks that every accepted value has all that is required.
func FuzzSuspensionOf(f *testing.F) {
	f.Add(`{"reason":"r","by":"jane","whenDeleted":"Wait"}`)
	f.Fuzz(func(t *testing.T, value string) {
		s, err := machine.SuspensionOf(&metav1.ObjectMeta{Annotations: map[string]string{key: value}}, name)
		if (s == nil) == (err == nil) || err == nil && (s.Reason == "" || s.By == "" || s.WhenDeleted == "") {
			t.Errorf("the suspension is %+v, %v", s, err)
		}
	})
}
