// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package fsmtest

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/kube-go/sdk/runtime/fsm"
)

// Coverage records the transitions that machines take. Its zero value is ready to use. It is safe for concurrent use.
type Coverage struct {
	mu    sync.Mutex // guards taken
	taken map[fsm.GraphTransition]bool
}

// OnStep is [fsm.Options].OnStep.
func (c *Coverage) OnStep(ctx context.Context, state string) (context.Context, func(fsm.Stepped)) {
	return ctx, func(s fsm.Stepped) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.taken == nil {
			c.taken = make(map[fsm.GraphTransition]bool)
		}
		c.taken[fsm.GraphTransition{From: state, To: s.Next}] = true
	}
}

// Missing returns the transitions of a graph that no machine has taken.
func (c *Coverage) Missing(g *fsm.Graph) []fsm.GraphTransition {
	c.mu.Lock()
	defer c.mu.Unlock()
	var missing []fsm.GraphTransition
	for _, t := range g.Transitions {
		if !c.taken[t] {
			missing = append(missing, t)
		}
	}
	return missing
}

// Check fails the test if a transition of the graph has not been taken, and names it.
func (c *Coverage) Check(t testing.TB, g *fsm.Graph) {
	t.Helper()
	var names []string
	for _, m := range c.Missing(g) {
		names = append(names, m.From+" --> "+m.To)
	}
	if len(names) > 0 {
		t.Errorf("no test takes the transitions %s", strings.Join(names, ", "))
	}
}
