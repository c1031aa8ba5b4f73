// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package fsm

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestErrorsThatDifferInNumbersAreOneMessage checks that a failed condition keeps its message if the next one differs
// only in numbers, since each write starts another pass.
func TestErrorsThatDifferInNumbersAreOneMessage(t *testing.T) {
	for _, tc := range []struct{ reason, old, next, want string }{
		{reasonFailed, "sent 2 times in 91ms", "sent 3 times in 1ms", "sent 2 times in 91ms"},
		{reasonFailed, "port 80 refused", "port 80 reset", "port 80 reset"},
		{reasonDeleting, "buried: sent 2 times", "buried: sent 3 times", "buried: sent 2 times"},
		{"Waiting", "1 of 3 replicas", "2 of 3 replicas", "2 of 3 replicas"},
	} {
		cond := func(message string) []metav1.Condition {
			return []metav1.Condition{{Type: "work", Status: metav1.ConditionFalse, Reason: tc.reason, Message: message}}
		}
		owned := func(string) bool { return true }
		if got := merge(cond(tc.old), cond(tc.next), owned, metav1.NewTime(noon))[0].Message; got != tc.want {
			t.Errorf("%q after %q is %q, want %q", tc.next, tc.old, got, tc.want)
		}
	}
}
