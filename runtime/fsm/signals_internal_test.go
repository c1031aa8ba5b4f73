// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package fsm

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/controller"
)

// finished is a signal.
type finished struct{ ID int }

// TestSignals checks that a signal starts a pass, and is received once, also if a pass fails in between.
func TestSignals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFarm(t, Options{})
		key := controller.Key{Ref: core.ObjectRef{Namespace: "meadow", Name: "ox"}}
		var got []string
		fail := false
		f.states[0].step = func(_ any, c *Ctx[animal]) outcome {
			if _, ok := Received[string](c); ok {
				t.Error("a signal of another type was received")
			}
			if s, ok := Received[finished](c); ok {
				got = append(got, fmt.Sprint(s.ID))
			} else {
				got = append(got, "-")
			}
			if fail {
				return outcome{how: fails, err: errLabel("failed")}
			}
			return outcome{how: stays, reason: "waits"}
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		ctl := controller.New(controller.For[animal](cache.New(f.server.Client(), nil)), nil).Watches(controller.On(f.Signals))
		go func() { ended <- ctl.Run(ctx, f.Reconcile) }()
		defer func() {
			stop()
			<-ended //nolint:errcheck // the cause of the context
		}()
		want := func(all string) {
			t.Helper()
			synctest.Wait()
			if fmt.Sprint(got) != all {
				t.Errorf("the passes have received %v, want %s", got, all)
			}
			got = nil
		}
		want("[- -]") // the second one follows the write of the status
		Send(f.Machine, key, finished{1})
		want("[1]")
		fail = true
		Send(f.Machine, key, finished{2})
		synctest.Wait()
		fail = false
		Send(f.Machine, key, finished{3})
		synctest.Wait()
		if last := got[len(got)-1]; got[0] != "2" || len(f.signals.values) != 0 || last != "-" && last != "3" {
			t.Errorf("the passes have received %v, and %d signals are left", got, len(f.signals.values))
		}
	})
}

// TestSignalsAreBounded checks that signals that nobody receives do not grow without limit, and do not stop later ones.
func TestSignalsAreBounded(t *testing.T) {
	m := newMachine(t, nil)
	key := controller.Key{}
	for i := range maxSignals + 10 {
		key.Ref.Name = fmt.Sprint(i)
		Send(m, key, finished{i})
		Send(m, key, i)
	}
	if n, w := len(m.signals.values), len(m.signals.waiting); n != maxSignals || w != maxSignals {
		t.Errorf("%d signals, %d waiting keys, want %d", n, w, maxSignals)
	}
	if box := m.signals.of(key); len(box) != 2 {
		t.Errorf("the last object has the signals %v", box)
	}
}
