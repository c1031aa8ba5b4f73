// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package fsm

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestAConditionHasTheLastText checks that a text replaces one that differs only in numbers: they may be those of
// names.
func TestAConditionHasTheLastText(t *testing.T) {
	for _, tc := range []struct{ reason, old, want string }{
		{reasonFailed, "Pod prod/web-0 has failed", "Pod prod/web-1 has failed"},
		{reasonDeleting, "Pod prod/web-0 is being deleted; and 2 more", "Pod prod/web-1 is being deleted; and 1 more"},
		{reasonWaiting, "1 of 3 replicas", "2 of 3 replicas"},
	} {
		cond := func(message string) []metav1.Condition {
			return []metav1.Condition{{
				Type: "work", Status: metav1.ConditionFalse, Reason: tc.reason, Message: message,
				LastTransitionTime: metav1.NewTime(noon),
			}}
		}
		owned := func(string) bool { return true }
		got := merge(cond(tc.old), cond(tc.want), owned, metav1.NewTime(noon.AddDate(0, 0, 1)))[0]
		if got != cond(tc.want)[0] {
			t.Errorf("%q after %q is %+v", tc.want, tc.old, got)
		}
	}
}

// TestTextsWithoutNumbers checks which parts of a text do not make another result.
func TestTextsWithoutNumbers(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "",
		"waiting":                       "waiting",
		"2 of 3 replicas":               " of  replicas",
		"sent 3 times in 1m30.5s":       "sent  times in ",
		"took=91ms, then 250µs; 1h":     "took=, then ; ",
		"the 1st of 5min, web-0 at 1.2": "the st of min, web- at ",
		"until 12:30.":                  "until :.",
		"5mé":                           "mé",
	} {
		if got := withoutNumbers(text); got != want {
			t.Errorf("%q without numbers is %q, want %q", text, got, want)
		}
	}
}
