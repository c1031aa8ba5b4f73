// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package core_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/kube-go/sdk/core"
)

func TestTerminalMarksAnErrorAndAllThatWrapIt(t *testing.T) {
	failed := errors.New("failed")
	unmarked := core.NotTerminal(core.Terminal(failed))
	for _, tt := range []struct {
		name string
		err  error
		want bool
	}{
		{"nil", nil, false},
		{"another error", failed, false},
		{"a marked error", core.Terminal(failed), true},
		{"wrapped", fmt.Errorf("create: %w", core.Terminal(failed)), true},
		{"joined", errors.Join(failed, fmt.Errorf("create: %w", core.Terminal(failed))), true},
		{"joined, without a mark", errors.Join(failed, failed), false},
		{"the mark is removed", fmt.Errorf("wait: %w", unmarked), false},
		{"the mark of the first of two is removed", errors.Join(unmarked, core.Terminal(failed)), false},
		{"the mark of the second of two is removed", errors.Join(core.Terminal(failed), unmarked), true},
		{"marked again", core.Terminal(unmarked), true},
	} {
		if got := core.IsTerminal(tt.err); got != tt.want {
			t.Errorf("%s: IsTerminal(%v) = %v, want %v", tt.name, tt.err, got, tt.want)
		}
	}
}

func TestAnErrorKeepsItsTextAndItsCauseWithAMarkAndWithout(t *testing.T) {
	for name, mark := range map[string]func(error) error{
		"Terminal": core.Terminal, "NotTerminal": core.NotTerminal,
		"both": func(err error) error { return core.NotTerminal(core.Terminal(err)) },
	} {
		cause := status("Conflict", 409)
		err := mark(fmt.Errorf("apply: %w", cause))
		if err.Error() != "apply: "+cause.Error() || !errors.Is(err, core.ErrConflict) {
			t.Errorf("%s() = %v", name, err)
		}
		if found, ok := errors.AsType[*core.StatusError](err); !ok || found != cause {
			t.Errorf("the cause of %s() = %v", name, found)
		}
		if err := mark(nil); err != nil {
			t.Errorf("%s(nil) = %v", name, err)
		}
	}
}
