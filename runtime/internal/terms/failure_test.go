// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package terms_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kube-go/sdk/runtime/internal/terms"
)

func TestFailuresOfAnOutageAreLoggedNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, other := errors.New("EOF"), errors.New("connection reset")
		var f terms.Failure
		for i, step := range []struct {
			err   error
			after time.Duration
			log   bool
		}{
			{one, 0, true},
			{one, time.Hour, false}, // the same
			{nil, 0, false},
			{one, 0, true},
			{other, time.Second, false}, // too early
			{one, time.Second, false},
			{other, 8 * time.Second, true},
			{nil, 0, false},
			{other, 0, true},
		} {
			<-time.After(step.after)
			if got := f.Note(step.err); got != step.log || f.Err != step.err {
				t.Errorf("step %d: Note = %t, and the error is %v; want %t and %v", i, got, f.Err, step.log, step.err)
			}
		}
	})
}
