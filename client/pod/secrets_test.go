// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package pod_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/gorilla/websocket"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/internal/testserver"
	"github.com/kube-go/sdk/client/pod"
)

// TestStreamErrorsContainNoCredentials checks that errors do not contain the credentials of the request, even if the
// server writes them to the error channel of a stream, or into the close frame.
func TestStreamErrorsContainNoCredentials(t *testing.T) {
	const token = "s3cret-token+/="
	connect := func(h http.HandlerFunc) *pod.API {
		o := &client.Options{Config: testserver.New(t, h).Config()}
		o.Config.BearerToken = token
		c := testserver.NewClient(t, o)
		t.Cleanup(c.CloseIdleConnections)
		return pod.In(c, "prod")
	}
	check := func(what string, err error, want string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s = %v, want an error with %q", what, err, want)
		}
		if text := fmt.Sprintf("%v %+v %q", err, err, err); strings.Contains(text, token) {
			t.Errorf("the error of %s contains the token: %s", what, text)
		}
	}
	exec := func(play func(*socket)) *pod.Process {
		t.Helper()
		o := &pod.ExecOptions{Command: []string{"ls"}, Stdin: true}
		p, err := connect(upgrades(t, v4, play)).Exec(t.Context(), "web-0", o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Close)
		return p
	}
	dial := func(h http.HandlerFunc) (net.Conn, error) {
		t.Helper()
		f, err := connect(h).PortForward("web-0", nil)
		if err != nil {
			t.Fatal(err)
		}
		return f.Dial(t.Context(), "80")
	}
	credentials := func(s *socket) string { return s.request.Header.Get("Authorization") }
	fails := func(s *socket) { s.hangUp(websocket.CloseInternalServerErr, "no runtime for "+credentials(s)) }

	p := exec(func(s *socket) { s.end(`{"status":"Failure","message":"no runtime for ` + credentials(s) + `"}`) })
	check("Wait() after a message", p.Wait(), "no runtime")

	p = exec(fails)
	_, err := io.ReadAll(p.Stdout)
	check("Read() of the output", err, "no runtime")
	_, err = p.Stdin.Write([]byte("input"))
	check("Write() of the input", err, "no runtime")
	check("Wait()", p.Wait(), "no runtime")

	conn, err := dial(forwards(t, func(s *socket, _ string) {
		s.send(1, "refused for "+credentials(s))
		s.receive()
	}))
	if err != nil {
		t.Fatal(err)
	}
	_, err = conn.Read(make([]byte, 1))
	check("Read() of the port after a message", err, "refused")
	_ = conn.Close()

	conn, err = dial(forwards(t, func(s *socket, _ string) { fails(s) }))
	if err != nil {
		t.Fatal(err)
	}
	_, err = conn.Read(make([]byte, 1))
	check("Read() of the port", err, "no runtime")
	_, err = conn.Write([]byte("data"))
	check("Write() to the port", err, "no runtime")
	_ = conn.Close()

	_, err = dial(upgrades(t, v4, fails))
	check("Dial()", err, "no runtime")
}
