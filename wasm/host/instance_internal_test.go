// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"encoding/base64"
	"errors"
	"testing"
	"time"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
)

// newTestInstance returns an instance of smallReconciler on a host that does not run.
func newTestInstance(t *testing.T, l Limits) *instance {
	t.Helper()
	c, err := client.New(t.Context(), &client.Options{Config: &config.Config{Server: "http://127.0.0.1:1"}})
	if err != nil {
		t.Fatal(err)
	}
	h, err := New(t.Context(), c, nil)
	if err != nil {
		t.Fatal(err)
	}
	binary, err := base64.StdEncoding.DecodeString(smallReconciler)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.setDefaults(); err != nil {
		t.Fatal(err)
	}
	digest := digestOf(binary)
	g := h.newGuest(Module{Name: "a", Limits: l}, digest)
	if g.program, err = h.program(t.Context(), digest, binary); err != nil {
		t.Fatal(err)
	}
	h.acquire()
	i, err := h.newInstance(g, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		i.end(errRemoved)
		h.release()
		h.leave(context.Background(), digest, g.program)
		if err := h.runtime.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return i
}

// TestGuestThatReturnsAfterTheTimeLimitHasFailed has a guest that waits in poll_oneoff until the limit ends the wait,
// and returns before the runtime notices the limit.
func TestGuestThatReturnsAfterTheTimeLimitHasFailed(t *testing.T) {
	i := newTestInstance(t, Limits{})
	returns := func(context.Context) ([]uint64, error) { return []uint64{7}, nil }
	if results, err := i.limited("kube_tick", returns); err != nil || len(results) != 1 || results[0] != 7 {
		t.Errorf("limited = %v, %v, want the result of the guest", results, err)
	}
	i.guest.module.Limits.Wake = time.Millisecond
	results, err := i.limited("kube_tick", func(ctx context.Context) ([]uint64, error) {
		i.sleep(ctx, time.Now().Add(time.Hour))
		return returns(ctx)
	})
	if !errors.Is(err, errTimeLimit) || results != nil {
		t.Errorf("limited = %v, %v after the time limit, want the error %v", results, err, errTimeLimit)
	}
}
