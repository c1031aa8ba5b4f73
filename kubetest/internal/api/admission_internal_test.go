// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"strings"
	"testing"
)

func TestReviewsOfAnObjectThatChangesEnd(t *testing.T) {
	reviews := 0
	err := afterReviews(t.Context(), func() error {
		return &unreviewed{func(context.Context) error {
			reviews++
			return nil
		}}
	})
	if reviews != maxReviews || err == nil || !strings.Contains(err.Error(), "must not change the object") {
		t.Errorf("afterReviews = %v after %d reviews", err, reviews)
	}
}
