// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package pod_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/gorilla/websocket"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kube-go/sdk/client/internal/testserver"
	"github.com/kube-go/sdk/client/pod"
)

// The sub-protocols of streams.
const (
	v5 = "v5.channel.k8s.io"
	v4 = "v4.channel.k8s.io"
)

// socket is the server side of a stream.
type socket struct {
	t testing.TB
	*websocket.Conn
	request *http.Request
}

// upgrades returns a handler that upgrades each request to a stream, and passes the server side of it to play.
func upgrades(t testing.TB, protocol string, play func(s *socket)) http.HandlerFunc {
	t.Helper()
	return func(w http.ResponseWriter, r *http.Request) {
		upgrader := websocket.Upgrader{Subprotocols: []string{protocol}}
		ws, err := upgrader.Upgrade(w, r, nil)
		if err != nil {
			t.Errorf("accept: %v", err)
			return
		}
		defer func() { _ = ws.Close() }() // it may be closed already
		ws.SetReadLimit(1 << 20)
		play(&socket{t, ws, r})
	}
}

// send sends data on a channel.
func (s *socket) send(channel byte, data string) {
	// The client may have closed the stream, which is not an error here.
	_ = s.WriteMessage(websocket.BinaryMessage, append([]byte{channel}, data...))
}

// receive returns the next message, or false at the end of the stream.
func (s *socket) receive() (channel byte, data string, ok bool) {
	_, message, err := s.ReadMessage()
	if err != nil || len(message) == 0 {
		return 0, "", false
	}
	return message[0], string(message[1:]), true
}

// end sends the status of the process and closes the stream.
func (s *socket) end(status string) {
	s.send(3, status)
	s.hangUp(websocket.CloseNormalClosure, "")
}

// hangUp sends a close frame and waits until the client closes the stream.
func (s *socket) hangUp(code int, reason string) { hangUp(s.Conn, code, reason) }

func hangUp(ws *websocket.Conn, code int, reason string) {
	err := ws.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(code, reason))
	for err == nil {
		_, _, err = ws.ReadMessage()
	}
	_ = ws.Close()
}

const success = `{"metadata":{},"status":"Success"}`

// exited returns the status that a kubelet sends for an exit status.
func exited(code string) string {
	data, _ := json.Marshal(&metav1.Status{
		Status: "Failure", Reason: "NonZeroExitCode", Message: "command terminated with exit code " + code,
		Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: "ExitCode", Message: code}}},
	})
	return string(data)
}

// podsOf returns the pods of a server in the namespace prod.
func podsOf(t testing.TB, s *testserver.Server) *pod.API {
	t.Helper()
	return pod.In(s.Client(t), "prod")
}

// cat is a process that sends its input back until the input ends.
func cat(s *socket) {
	for {
		channel, data, ok := s.receive()
		switch {
		case !ok:
			return
		case channel == 0:
			s.send(1, data)
		case channel == 255:
			s.end(success)
			return
		}
	}
}

// hiding is a RoundTripper that hides the connection of an upgraded response.
type hiding struct{ http.RoundTripper }

func (h hiding) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := h.RoundTripper.RoundTrip(r)
	if err == nil {
		resp.Body = struct{ io.ReadCloser }{resp.Body}
	}
	return resp, err
}

// long returns a message that is longer than the part of a response that WebSocket libraries keep.
func long() string { return strings.Repeat("no, ", 1000) + "never" }

// intstrOf returns the target port of a service, which is a number or a name.
func intstrOf(port any) intstr.IntOrString {
	if n, ok := port.(int); ok {
		return intstr.FromInt(n)
	}
	return intstr.FromString(port.(string))
}
