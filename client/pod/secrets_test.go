// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package pod_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/internal/testserver"
	"github.com/kube-go/sdk/client/pod"
)

// TestStreamErrorsContainNoCredentials checks that errors do not contain the credentials of the request, even if the
// server writes them to the error channel of a stream.
func TestStreamErrorsContainNoCredentials(t *testing.T) {
	const token = "s3cret-token+/="
	connect := func(h http.HandlerFunc) *pod.API {
		o := &client.Options{Config: testserver.New(t, h).Config()}
		o.Config.BearerToken = token
		c := testserver.NewClient(t, o)
		t.Cleanup(c.CloseIdleConnections)
		return pod.In(c, "prod")
	}
	pods := connect(upgrades(t, v4, func(s *socket) {
		s.end(`{"status":"Failure","message":"no runtime for ` + s.request.Header.Get("Authorization") + `"}`)
	}))
	p, err := pods.Exec(t.Context(), "web-0", &pod.ExecOptions{Command: []string{"ls"}})
	if err != nil {
		t.Fatal(err)
	}
	err = p.Run(nil, nil, nil)
	if err == nil || !strings.Contains(err.Error(), "no runtime") {
		t.Errorf("Run() = %v, want the server's message", err)
	}
	if text := fmt.Sprintf("%v %+v %q", err, err, err); strings.Contains(text, token) {
		t.Errorf("the error of exec contains the token: %s", text)
	}

	pods = connect(forwards(t, func(s *socket, _ string) {
		s.send(1, "refused for "+s.request.Header.Get("Authorization"))
		s.receive()
	}))
	f, err := pods.PortForward("web-0", nil)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := f.Dial(t.Context(), "80")
	if err != nil {
		t.Fatal(err)
	}
	_, err = conn.Read(make([]byte, 1))
	if err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("Read() = %v, want the server's message", err)
	}
	if text := fmt.Sprintf("%v %+v %q", err, err, err); strings.Contains(text, token) {
		t.Errorf("the error of port-forward contains the token: %s", text)
	}
	_ = conn.Close()
}
