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

// TestOnlyATarThatDoesNotReadIsStuck has a tar that has printed an error. It is stuck if it reads nothing, but not if
// it waits for a slow input, such as one whose Progress is slow. At the end of the input it has more time.
func TestOnlyATarThatDoesNotReadIsStuck(t *testing.T) {
	for _, tc := range []struct {
		name string
		all  bool // tar reads all of the input
		want time.Duration
	}{
		{"in the middle of the input", false, stuckAfter},
		{"at the end of the input", true, stuckAtEnd},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				said := &complaints{}
				_, _ = said.Write([]byte("tar: ./a: Cannot open: No space")) // never fails
				dog := watch(slow{strings.NewReader("archive")}, said, cancel)
				defer dog.stop()
				for one := make([]byte, 1); ; {
					if n, err := dog.Read(one); err == io.EOF || !tc.all && n == 1 && one[0] == 'h' {
						break
					}
				}
				if err := context.Cause(ctx); err != nil {
					t.Errorf("a tar that waits for its input was ended with %v", err)
				}
				start := time.Now()
				<-ctx.Done()
				err := context.Cause(ctx)
				took := time.Since(start)
				if took < tc.want || took > tc.want+time.Second || !strings.Contains(err.Error(), "No space") {
					t.Errorf("a tar that does not read was ended after %v with %v, want its message after %v", took, err, tc.want)
				}
			})
		})
	}
}

// TestWarningsOfTarEndNoUpload checks that a tar that has only printed warnings is not stuck, however long it takes.
func TestWarningsOfTarEndNoUpload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		said := &complaints{}
		dog := watch(strings.NewReader("archive"), said, cancel)
		defer dog.stop()
		for _, piece := range []string{
			"tar: ./a: time st", "amp 2036-01-01 00:00:00 is 9.5 s in the future\ntar: ./b: implausibly old",
			" time stamp 1970-01-01 00:00:00\n", "tar: ./c: time stamp 2036-01-01 00:00:00 is 9.1 s in the future",
		} {
			_, _ = said.Write([]byte(piece)) // never fails
		}
		time.Sleep(time.Hour)
		if err := context.Cause(ctx); err != nil || said.String() != "" {
			t.Errorf("after warnings, the upload was ended with %v, and the error is %q", err, said)
		}
		_, _ = said.Write([]byte("\ntar: ./d: Cannot open: No space\ntar: Exiting")) // never fails
		time.Sleep(stuckAfter + time.Second)
		const want = "tar: ./d: Cannot open: No space; tar: Exiting"
		if err := context.Cause(ctx); err == nil || said.String() != want {
			t.Errorf("after an error, the upload was ended with %v, and the error is %q, want %q", err, said, want)
		}
	})
}
