// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package podfiles

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// slow is an input each of whose reads takes longer than a tar may read nothing.
type slow struct{ io.Reader }

func (s slow) Read(p []byte) (int, error) {
	time.Sleep(stuckAfter + time.Second)
	return s.Reader.Read(p)
}

// TestOnlyATarThatDoesNotReadIsStuck has a tar that has printed a warning. It is stuck if it reads nothing, but not if
// it waits for a slow input, such as one whose Progress is slow.
func TestOnlyATarThatDoesNotReadIsStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		said := &complaints{}
		_, _ = said.Write([]byte("tar: implausibly old time stamp")) // never fails
		dog := watch(slow{strings.NewReader("archive")}, said, cancel)
		defer dog.stop()
		for one := make([]byte, 1); ; {
			if _, err := dog.Read(one); err == io.EOF {
				break
			}
		}
		if err := context.Cause(ctx); err != nil {
			t.Errorf("a tar that waits for its input was ended with %v", err)
		}
		start := time.Now()
		<-ctx.Done()
		if took := time.Since(start); took > stuckAfter+time.Second || !strings.Contains(context.Cause(ctx).Error(), "implausibly old") {
			t.Errorf("a tar that does not read was ended after %v with %v, want its message after %v", took, context.Cause(ctx), stuckAfter)
		}
	})
}
