// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core"
)

func TestErrorsHaveNoValuesOfSecrets(t *testing.T) {
	refusal := func(reason metav1.StatusReason, message string) error {
		return &client.OpError{
			Verb: "apply", Resource: "secrets", Ref: core.ObjectRef{Namespace: "prod", Name: "a"},
			Err: &core.StatusError{Status: metav1.Status{
				Reason: reason, Message: message,
				Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Field: "data[key]", Message: message}}},
			}, Body: []byte(message), RetryAfter: time.Second},
		}
	}
	content := map[string]any{
		"data":       map[string]any{"key": "aHVudGVyMg==", "short": "YQ=="},
		"stringData": map[string]any{"text": "line 1\nline 2"},
	}
	for _, tt := range []struct {
		name string
		in   error
		want string
	}{
		{
			"an invalid value", refusal(metav1.StatusReasonInvalid, "0x68756e74657232"),
			"apply secrets prod/a: Invalid: data[key]: the server's message is hidden, since it may have values of the Secret",
		},
		{
			"a value in the message of a webhook", refusal(metav1.StatusReasonForbidden, "hunter2 is weak"),
			"apply secrets prod/a: forbidden: server said: (hidden) is weak",
		},
		{
			"an encoded value", refusal(metav1.StatusReasonForbidden, "aHVudGVyMg== is weak"),
			"apply secrets prod/a: forbidden: server said: (hidden) is weak",
		},
		{
			"a quoted value", refusal(metav1.StatusReasonForbidden, `"line 1\nline 2" is weak`),
			`apply secrets prod/a: forbidden: server said: "(hidden)" is weak`,
		},
		{
			"a conflict", refusal(metav1.StatusReasonConflict, "conflict with x: .data.key"),
			"apply secrets prod/a: conflict: server said: conflict with x: .data.key",
		},
		{"another error", errors.New("connection refused"), "connection refused"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := hideSecrets(content, tt.in)
			if got.Error() != tt.want {
				t.Errorf("hideSecrets = %q, want %q", got, tt.want)
			}
			for _, sentinel := range []error{core.ErrInvalid, core.ErrForbidden, core.ErrConflict} {
				if errors.Is(got, sentinel) != errors.Is(tt.in, sentinel) {
					t.Errorf("errors.Is(%v, %v) = %t", got, sentinel, errors.Is(got, sentinel))
				}
			}
			before, _ := core.RetryAfter(tt.in)
			if after, _ := core.RetryAfter(got); after != before {
				t.Errorf("RetryAfter = %v, want %v", after, before)
			}
			for wrapped := got; wrapped != nil; wrapped = errors.Unwrap(wrapped) {
				for _, value := range []string{"68756e74657232", "hunter2", "aHVudGVyMg", "line 1"} {
					text := wrapped.Error()
					if status, ok := errors.AsType[*core.StatusError](wrapped); ok {
						text += status.Status.String() + string(status.Body)
					}
					if strings.Contains(text, value) {
						t.Errorf("%#v has the value %q", wrapped, value)
					}
				}
			}
		})
	}
}

func TestStringDataBecomesData(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"no data", `{"stringData": {"a": "x", "b": ""}}`, `{"data": {"a": "eA==", "b": ""}}`},
		{"stringData overrides data", `{"data": {"a": "eQ==", "b": "eQ=="}, "stringData": {"a": "x"}}`, `{"data": {"a": "eA==", "b": "eQ=="}}`},
		{"no stringData", `{"data": {"a": "eQ=="}}`, `{"data": {"a": "eQ=="}}`},
		{"a value that is not a string", `{"stringData": {"a": "x", "b": 1}}`, `{"stringData": {"a": "x", "b": 1}}`},
		{"data that is not a map", `{"data": "y", "stringData": {"a": "x"}}`, `{"data": "y", "stringData": {"a": "x"}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := fields(t, tt.in)
			mergeStringData(got)
			if diff := cmp.Diff(fields(t, tt.want), got); diff != "" {
				t.Errorf("mergeStringData (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPatchesHaveNoValuesOfSecrets(t *testing.T) {
	in := fields(t, `{"data": {"a": "eA==", "b": null}, "stringData": {"c": "x"}, "type": "Opaque", "metadata": {"labels": {"l": "v"},
		"annotations": {"kubectl.kubernetes.io/last-applied-configuration": "x", "n": "v"}}}`)
	want := fields(t, strings.NewReplacer("eA==", hidden, `"x"`, `"`+hidden+`"`).Replace(`{"data": {"a": "eA==", "b": null},
		"stringData": {"c": "x"}, "type": "Opaque", "metadata": {"labels": {"l": "v"},
		"annotations": {"kubectl.kubernetes.io/last-applied-configuration": "x", "n": "v"}}}`))
	before := copyFields(in)
	if diff := cmp.Diff(want, withoutSecrets(in)); diff != "" {
		t.Errorf("withoutSecrets (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, in); diff != "" {
		t.Errorf("withoutSecrets has changed its argument:\n%s", diff)
	}
}

// TestAValueInAnotherOneIsHidden checks that no part of a value remains if another value is a part of it. The order of
// a map is random.
func TestAValueInAnotherOneIsHidden(t *testing.T) {
	content := map[string]any{"stringData": map[string]any{"a": "shop", "b": "shop-hunter2", "c": "hunter2"}}
	for range 100 {
		if got := withoutValues(content, "shop-hunter2 is weak"); got != "(hidden) is weak" {
			t.Fatalf("withoutValues = %q", got)
		}
	}
}
