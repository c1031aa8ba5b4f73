// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package election

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/internal/fakeapi"
)

// TestTheWorkEndsAfterASuspensionOfTheMachine checks that the context of the work ends within a second, and not with
// the next renewal: the monotonic clock, and all timers with it, have stood still.
func TestTheWorkEndsAfterASuspensionOfTheMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leases, err := core.ResourceOf[coordinationv1.Lease]()
		if err != nil {
			t.Fatal(err)
		}
		e := New(fakeapi.New(leases).Client(), &Options{
			Name: "shop", Namespace: "prod",
			LeaseDuration: time.Minute, RenewDeadline: 40 * time.Second, RetryPeriod: 15 * time.Second,
		})
		err = e.Run(t.Context(), func(ctx context.Context) error {
			time.Sleep(500 * time.Millisecond)
			e.mu.Lock()
			e.state.renewal = e.state.renewal.Add(-time.Hour) // to the clocks of a bubble, this is the same
			e.mu.Unlock()
			resumed := time.Now()
			<-ctx.Done()
			if took := time.Since(resumed); took > time.Second {
				t.Errorf("the context of the work has ended after %v", took)
			}
			return nil
		})
		if !errors.Is(err, ErrLost) {
			t.Errorf("Run = %v, want %v", err, ErrLost)
		}
	})
}
