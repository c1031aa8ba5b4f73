// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package core_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/kube-go/sdk/core"
)

// passing wraps an error that passes, whatever its mark.
type passing struct{ error }

func (e passing) Unwrap() error { return e.error }
func (passing) Terminal() bool  { return false }

func TestTerminalMarksAnErrorAndAllThatWrapIt(t *testing.T) {
	failed := errors.New("failed")
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
		{"the mark is removed", fmt.Errorf("wait: %w", passing{core.Terminal(failed)}), false},
		{"the mark of one of two is removed", errors.Join(passing{core.Terminal(failed)}, core.Terminal(failed)), true},
		{"marked again", core.Terminal(passing{core.Terminal(failed)}), true},
	} {
		if got := core.IsTerminal(tt.err); got != tt.want {
			t.Errorf("%s: IsTerminal(%v) = %v, want %v", tt.name, tt.err, got, tt.want)
		}
	}
}

func TestAMarkedErrorKeepsItsTextAndItsCause(t *testing.T) {
	cause := status("Conflict", 409)
	err := core.Terminal(fmt.Errorf("apply: %w", cause))
	if err.Error() != "apply: "+cause.Error() || !errors.Is(err, core.ErrConflict) {
		t.Errorf("Terminal() = %v", err)
	}
	if found, ok := errors.AsType[*core.StatusError](err); !ok || found != cause {
		t.Errorf("the cause of Terminal() = %v", found)
	}
	if err := core.Terminal(nil); err != nil {
		t.Errorf("Terminal(nil) = %v", err)
	}
}
