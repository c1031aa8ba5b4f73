// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package watcher_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/watcher"
)

// scripted returns a function that opens the sequences one after another. After the last one, it waits for ctx.
func scripted(sequences ...[]any) func(context.Context) iter.Seq2[watcher.Event, error] {
	next := 0
	return func(ctx context.Context) iter.Seq2[watcher.Event, error] {
		return func(yield func(watcher.Event, error) bool) {
			if next == len(sequences) {
				<-ctx.Done()
				return
			}
			next++
			for _, step := range sequences[next-1] {
				if err, ok := step.(error); ok {
					yield(watcher.Event{}, err)
					return
				}
				if !yield(step.(watcher.Event), nil) {
					return
				}
			}
		}
	}
}

func TestRecoverOpensTheNextSequenceAfterAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		over := errors.New("over")
		var errs []string
		var phases []watcher.Phase
		var last watcher.Status
		o := &watcher.Options{
			OnError: func(err error) { errs = append(errs, err.Error()) },
			OnStatus: func(s watcher.Status) {
				if len(phases) == 0 || phases[len(phases)-1] != s.Phase {
					phases = append(phases, s.Phase)
				}
				last = s
			},
		}
		begin, done := watcher.Event{Type: watcher.Init}, watcher.Event{
			Type: watcher.InitDone, Head: wire.Head{ResourceVersion: "7"},
		}
		open := scripted(
			[]any{errors.New("refused")},
			[]any{begin, errors.New("broken")},
			[]any{},
			[]any{begin, done, watcher.Event{Type: watcher.Bookmark, Head: wire.Head{ResourceVersion: "9"}}},
		)
		var types []watcher.EventType
		for ev, err := range watcher.Recover(ctx, core.Resource{}, o, open) {
			if err != nil {
				if err != over {
					t.Errorf("the sequence ended with %v", err)
				}
				break
			}
			types = append(types, ev.Type)
			if ev.Type == watcher.Bookmark {
				go func() {
					synctest.Wait()
					cancel(over)
				}()
			}
		}
		if want := []string{"refused", "broken", "the watch has ended", "the watch has ended"}; !slices.Equal(errs, want) {
			t.Errorf("errors: %q", errs)
		}
		want := []watcher.EventType{watcher.Init, watcher.Init, watcher.InitDone, watcher.Bookmark}
		if !slices.Equal(types, want) {
			t.Errorf("events: %v", types)
		}
		if last.Lists != 1 || last.ResourceVersion != "7" && last.ResourceVersion != "9" {
			t.Errorf("status: %+v", last)
		}
		if !slices.Contains(phases, watcher.BackingOff) || !slices.Contains(phases, watcher.Watching) {
			t.Errorf("phases: %v", phases)
		}
	})
}

func TestRecoverEndsWithAnInvalidRequest(t *testing.T) {
	invalid := &request.InvalidError{Field: "ShardSelector"}
	for _, err := range watcher.Recover(t.Context(), core.Resource{}, nil, scripted([]any{invalid})) {
		if err != invalid {
			t.Errorf("err = %v", err)
		}
	}
}

func TestRecoverEndsWithTheLoopOfItsConsumer(t *testing.T) {
	n := 0
	for _, err := range watcher.Recover(t.Context(), core.Resource{}, nil, scripted([]any{watcher.Event{Type: watcher.Init}})) {
		if err != nil {
			t.Error(err)
		}
		n++
		break
	}
	if n != 1 {
		t.Errorf("%d events", n)
	}
}
