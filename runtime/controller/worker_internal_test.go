// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/kube-go/sdk/runtime/applier"
	"github.com/kube-go/sdk/runtime/reflector"
)

// TestContextOfACurrentRunDoesNotChange fails only with the race detector. Log handlers read the context of a run that
// has not returned after a stop.
func TestContextOfACurrentRunDoesNotChange(t *testing.T) {
	a := applier.New[Key, *event](nil)
	defer a.Close()
	seen := make(chan struct{})
	w := &worker{
		applier: a,
		read:    func(Key) (reflector.State, string, error) { return reflector.State{}, "", errors.New("invalid key") },
		timeout: time.Hour,
		report:  func(context.Context, Result) { <-seen },
	}
	p := &pool{workers: []*worker{w}}
	go func() {
		defer close(seen)
		for {
			for _, r := range p.runs() {
				r.Value("trace")
				return
			}
			runtime.Gosched()
		}
	}()
	a.Add(Key{}, applier.Normal, &event{what: CauseExternal})
	item, err := a.Get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w.one(t.Context(), item)
}
