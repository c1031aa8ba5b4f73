// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package pod

import (
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// TestTheLocalSideEnds promises that a pod which can't be told that the local side has ended what it sends is left when
// it is silent, and only then.
func TestTheLocalSideEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		local, program := net.Pipe()
		remote, pod := net.Pipe()
		// The program sends nothing more, but reads on.
		up := &uplink{local: ended{local}, remote: remote, done: make(chan struct{})}
		go up.run()
		down := make(chan error, 1)
		go func() {
			down <- up.down()
			local.Close()
		}()
		start := time.Now()
		go func() {
			for range 5 {
				time.Sleep(afterEnd - time.Second)
				if _, err := io.WriteString(pod, "more"); err != nil {
					t.Error(err)
				}
			}
		}()
		got, err := io.ReadAll(program)
		if string(got) != "moremoremoremoremore" || err != nil {
			t.Errorf("the program read %q, %v, want all that the pod has sent", got, err)
		}
		if err := <-down; err != nil || time.Since(start) != 5*(afterEnd-time.Second)+afterEnd {
			t.Errorf("the end came after %v with %v, want it %v after the last word", time.Since(start), err, afterEnd)
		}
		<-up.done
	})
}

// ended is a connection on which nothing more comes.
type ended struct{ net.Conn }

func (ended) Read([]byte) (int, error) { return 0, io.EOF }
