// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/managed"
)

func conflict(causes ...metav1.StatusCause) error {
	return fmt.Errorf("apply: %w", &core.StatusError{Status: metav1.Status{
		Code: 409, Reason: metav1.StatusReasonConflict, Details: &metav1.StatusDetails{Causes: causes},
	}})
}

func TestConflictsDescribesEachField(t *testing.T) {
	for _, tc := range []struct {
		name, message string
		want          managed.Conflict
		text          string
	}{
		{
			"with an apply", `conflict with "one"`,
			managed.Conflict{Field: ".spec.replicas", Manager: "one"},
			`.spec.replicas is owned by "one"`,
		},
		{
			"with an apply of a subresource", `conflict with "one" with subresource "scale"`,
			managed.Conflict{Field: ".spec.replicas", Manager: "one", Subresource: "scale"},
			`.spec.replicas is owned by "one", which applied it through scale`,
		},
		{
			"with an update", `conflict with "kubectl edit" using apps/v1 at 2026-01-02T15:04:05Z`,
			managed.Conflict{
				Field: ".spec.replicas", Manager: "kubectl edit", APIVersion: "apps/v1", Time: time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC),
			},
			`.spec.replicas is owned by "kubectl edit", which updated it at 2026-01-02T15:04:05Z`,
		},
		{
			"with an update of a subresource, without a time", `conflict with "a \"b\"" with subresource "status" using v1`,
			managed.Conflict{Field: ".spec.replicas", Manager: `a "b"`, Subresource: "status", APIVersion: "v1"},
			`.spec.replicas is owned by "a \"b\"", which updated it through status`,
		},
		{
			"with a truncated name", `conflict with "one`,
			managed.Conflict{Field: ".spec.replicas"},
			`.spec.replicas is owned by another manager`,
		},
		{
			"with an unknown message", `something else`,
			managed.Conflict{Field: ".spec.replicas"},
			`.spec.replicas is owned by another manager`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := managed.Conflicts(conflict(
				metav1.StatusCause{Type: metav1.CauseTypeFieldManagerConflict, Field: ".spec.replicas", Message: tc.message},
				metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid, Field: ".spec", Message: "not a conflict"},
			))
			if diff := cmp.Diff([]managed.Conflict{tc.want}, got); diff != "" {
				t.Fatalf("Conflicts (-want +got):\n%s", diff)
			}
			if got := got[0].String(); got != tc.text {
				t.Errorf("String = %s, want %s", got, tc.text)
			}
		})
	}
}

func TestOtherErrorsHaveNoConflicts(t *testing.T) {
	for _, err := range []error{
		nil,
		errors.New("conflict"),
		conflict(),
		&core.StatusError{Status: metav1.Status{Reason: metav1.StatusReasonConflict}},
		&core.StatusError{Status: metav1.Status{Reason: metav1.StatusReasonInvalid, Details: &metav1.StatusDetails{
			Causes: []metav1.StatusCause{{Type: metav1.CauseTypeFieldManagerConflict}},
		}}},
	} {
		if got := managed.Conflicts(err); got != nil {
			t.Errorf("Conflicts(%v) = %v, want none", err, got)
		}
	}
}

// FuzzConflicts checks that Conflicts does not panic, and that each conflict has its field whatever its message is.
func FuzzConflicts(f *testing.F) {
	f.Add(`conflict with "a" with subresource "status" using v1 at 2026-01-02T15:04:05Z`)
	f.Add(`conflict with "`)
	f.Fuzz(func(t *testing.T, message string) {
		got := managed.Conflicts(conflict(metav1.StatusCause{Type: metav1.CauseTypeFieldManagerConflict, Field: ".a", Message: message}))
		if len(got) != 1 || got[0].Field != ".a" || got[0].String() == "" {
			t.Errorf("Conflicts of %q = %v", message, got)
		}
	})
}
