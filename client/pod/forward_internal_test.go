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

// TestSilentPodIsDisconnectedAfterLocalEnd checks that the connection ends if the pod sends nothing for a while after
// the local side has closed its direction, and not before.
func TestSilentPodIsDisconnectedAfterLocalEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		local, program := net.Pipe()
		remote, pod := net.Pipe()
		// The program sends nothing more, but still reads.
		up := &uplink{local: halfClosed{local}, remote: remote, done: make(chan struct{})}
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
			t.Errorf("ReadAll() = %q, %v, want all data of the pod", got, err)
		}
		if err := <-down; err != nil || time.Since(start) != 5*(afterEnd-time.Second)+afterEnd {
			t.Errorf("down() = %v after %v, want nil %v after the last data", err, time.Since(start), afterEnd)
		}
		<-up.done
	})
}

// halfClosed is a connection whose other side has ended its direction.
type halfClosed struct{ net.Conn }

func (halfClosed) Read([]byte) (int, error) { return 0, io.EOF }
