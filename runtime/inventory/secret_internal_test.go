// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"errors"
	"strings"
	"testing"

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
			}},
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
			if got.Error() != tt.want || !errors.Is(got, tt.in) {
				t.Errorf("hideSecrets = %q, want %q", got, tt.want)
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
