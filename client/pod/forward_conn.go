// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package pod

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client/internal/channels"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
)

// The channels of the first port. Each starts with the number of the port in two bytes, the lower one first.
const (
	portData    = 0
	portProblem = 1
)

// portConn is a connection to a port of a pod. Each has its own WebSocket, so that an unread connection does not block
// others.
type portConn struct {
	conn    *channels.Conn
	remote  portAddr
	redact  func(error) error // removes sent credentials from the server's messages
	wrap    func(error) error
	reading sync.WaitGroup // waits for awaitProblem
	problem error          // the server's error; set when reading is done

	writing sync.Mutex // held during a Write, so that its bytes stay together
}

// portAddr is the address of a port of a pod.
type portAddr struct {
	pod  core.ObjectRef
	port uint16
}

// Network returns "port-forward".
func (portAddr) Network() string { return "port-forward" }

// String returns, for example, "prod/web-0:8080".
func (a portAddr) String() string { return fmt.Sprintf("%s:%d", a.pod, a.port) }

// connect makes a connection to a port of a pod.
func (f *PortForwarder) connect(ctx context.Context, pod string, port uint16) (*portConn, error) {
	target := f.pods.target(pod)
	r, err := request.PortForward(target, &request.PortForwardOptions{Ports: []int32{int32(port)}})
	if err != nil {
		return nil, err
	}
	conn, redact, err := dial(ctx, f.pods.client, r, []string{channels.V4}, []channels.Channel{
		{ID: portData, BufferBytes: f.bufferBytes, StallTimeout: -1},
		{ID: portProblem, BufferBytes: messageBytes},
	})
	if err != nil {
		return nil, err
	}
	c := &portConn{
		conn: conn, redact: redact, wrap: f.wrap,
		remote: portAddr{core.ObjectRef{Namespace: target.Namespace, Name: pod}, port},
	}
	stop := context.AfterFunc(ctx, func() { conn.Abort(context.Cause(ctx)) })
	defer stop()
	for _, id := range []byte{portData, portProblem} {
		if err := expectPort(conn.Incoming(id), port); err != nil {
			conn.Abort(err)
			return nil, err
		}
	}
	c.reading.Go(c.awaitProblem)
	return c, nil
}

// expectPort reads the start of a channel.
func expectPort(channel io.Reader, port uint16) error {
	var start [2]byte
	if _, err := io.ReadFull(channel, start[:]); err != nil {
		if errors.Is(err, io.EOF) || err == io.ErrUnexpectedEOF {
			return errors.New("the server closed the stream before it sent the port")
		}
		return err
	}
	if got := binary.LittleEndian.Uint16(start[:]); got != port {
		return fmt.Errorf("the server forwards port %d, not %d", got, port)
	}
	return nil
}

// awaitProblem ends the connection when the server reports an error.
func (c *portConn) awaitProblem() {
	text := make([]byte, messageBytes)
	n, _ := io.ReadAtLeast(c.conn.Incoming(portProblem), text, 1) // n is 0 if the connection ends
	if n == 0 {
		return
	}
	message := strings.Join(strings.Fields(strings.ToValidUTF8(string(text[:n]), "")), " ")
	status := metav1.Status{Status: metav1.StatusFailure, Code: 500, Message: message}
	c.problem = c.redact(&core.StatusError{Status: status})
	c.conn.Abort(c.problem)
}

// Read reads the received data. The error after a deadline is a net.Error, which it would not be if it were wrapped.
func (c *portConn) Read(p []byte) (int, error) {
	n, err := c.conn.Incoming(portData).Read(p)
	if err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		return n, err
	}
	if c.reading.Wait(); c.problem != nil { // the reason
		err = c.problem
	}
	if err != io.EOF {
		err = c.wrap(err)
	}
	return n, err
}

// Write sends data. It blocks while the pod does not read. The error after a deadline is that of Read.
func (c *portConn) Write(p []byte) (int, error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	n, err := c.conn.Write(portData, p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return n, err
	}
	return n, c.wrap(err)
}

// Close ends the connection.
func (c *portConn) Close() error {
	c.conn.Close()
	c.reading.Wait()
	return nil
}

// LocalAddr returns an address without a port, since the connection has no local port.
func (c *portConn) LocalAddr() net.Addr { return portAddr{} }

// RemoteAddr returns the pod and its port.
func (c *portConn) RemoteAddr() net.Addr { return c.remote }

// SetDeadline sets both deadlines.
func (c *portConn) SetDeadline(t time.Time) error {
	_ = c.SetReadDeadline(t)  // never fails
	_ = c.SetWriteDeadline(t) // never fails
	return nil
}

// SetReadDeadline sets the time at which a blocked Read fails with os.ErrDeadlineExceeded.
func (c *portConn) SetReadDeadline(t time.Time) error {
	c.conn.Incoming(portData).SetReadDeadline(t)
	return nil
}

// SetWriteDeadline sets the time at which a blocked Write fails with os.ErrDeadlineExceeded.
func (c *portConn) SetWriteDeadline(t time.Time) error {
	c.conn.SetWriteDeadline(t)
	return nil
}
