// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package documents

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/kube-go/sdk/examples/document-controller/api/v1"
)

func TestConditionsOfOtherControllersAreNotApplied(t *testing.T) {
	since := metav1.NewTime(time.Unix(1000, 0))
	doc := &v1.Document{Status: v1.DocumentStatus{Conditions: []metav1.Condition{
		{Type: "Reviewed", Status: metav1.ConditionTrue, LastTransitionTime: since},
		{Type: v1.ConditionReady, Status: metav1.ConditionTrue, LastTransitionTime: since},
	}}}
	got := conditions(doc, metav1.Condition{Type: v1.ConditionReady, Status: metav1.ConditionTrue, Reason: "Rendered"})
	if len(got) != 1 || got[0].Type != v1.ConditionReady || got[0].Reason != "Rendered" || got[0].LastTransitionTime != since {
		t.Errorf("conditions = %+v, want the new one with the old time", got)
	}
}
