// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
)

func TestServerResponds(t *testing.T) {
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	var some bytes.Buffer
	if _, err := io.Copy(&some, stream(2048)); err != nil {
		t.Fatal(err)
	}
	server := handler()
	for _, test := range []struct { // in this order
		name   string
		method string
		target string
		body   string
		status int
		want   string
	}{
		{name: "its name", target: "/", status: 200, want: name + "\n"},
		{name: "the body it is sent", method: "POST", target: "/echo", body: "some text", status: 200, want: "some text"},
		{name: "the requested number of bytes", target: "/bytes?size=2K", status: 200, want: some.String()},
		{name: "a missing size", target: "/bytes", status: 400, want: "\"\" is not a size, such as 10 or 64M\n"},
		{name: "healthy by default", target: "/healthz", status: 200, want: "ok\n"},
		{name: "a change of the health", method: "POST", target: "/healthz?status=503", status: 200},
		{name: "unhealthy after the change", target: "/healthz", status: 503},
		{name: "an invalid status", method: "POST", target: "/healthz?status=ill", status: 400, want: "want a status from 200 to 599\n"},
		{name: "an unknown path", target: "/other", status: 404, want: "404 page not found\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			answer := httptest.NewRecorder()
			req := httptest.NewRequestWithContext(t.Context(), test.method, test.target, strings.NewReader(test.body))
			server.ServeHTTP(answer, req)
			if answer.Code != test.status || answer.Body.String() != test.want {
				t.Errorf("%s %s = %d %q, want %d %q", test.method, test.target, answer.Code, answer.Body, test.status, test.want)
			}
		})
	}
}

// start runs a server on a free port until the test ends, checks that it exits without an error, and returns its port.
func start(t *testing.T, server func(context.Context, []string, streams) error) string {
	t.Helper()
	out, in := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- server(ctx, []string{"0"}, streams{out: in}) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	address, ok := strings.CutPrefix(strings.TrimSpace(line), "serving on ")
	_, port, err := net.SplitHostPort(address)
	if !ok || err != nil {
		t.Fatalf("the server prints %q", line)
	}
	return port
}

func TestGetPrintsTheResponseOfAServer(t *testing.T) {
	url := "http://127.0.0.1:" + start(t, serve)
	var out, stderr bytes.Buffer
	if status := run([]string{"get", url + "/healthz"}, streams{out: &out, err: &stderr}); status != 0 || out.String() != "ok\n" {
		t.Errorf("get = %d and prints %q, want 0 and ok; it says %q", status, out.String(), stderr.String())
	}
	if status := run([]string{"get", url + "/other"}, streams{out: &out, err: &stderr}); status != 1 ||
		!strings.Contains(stderr.String(), "404") {
		t.Errorf("get of an unknown path = %d and says %q, want 1 and the status", status, stderr.String())
	}
	if status := run([]string{"get", "://"}, streams{out: &out, err: &stderr}); status != 2 {
		t.Errorf("get of an invalid URL = %d, want 2", status)
	}
}

func TestServerRespondsBeforeTheRequestEnds(t *testing.T) {
	url := "http://127.0.0.1:" + start(t, serve)
	body, writer := io.Pipe()
	defer func() { _ = writer.Close() }() // never fails
	go func() { _, _ = io.WriteString(writer, "ping") }()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/echo", body)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer := make([]byte, 4)
	if _, err := io.ReadFull(resp.Body, answer); err != nil || string(answer) != "ping" {
		t.Errorf("it responds with %q, %v before the request ended, want ping", answer, err)
	}
}

func dial(t *testing.T, port string) (net.Conn, error) {
	t.Helper()
	return new(net.Dialer).DialContext(t.Context(), "tcp", "127.0.0.1:"+port)
}

func TestEchoServerSendsBackAndClosesAfterItsClient(t *testing.T) {
	conn, err := dial(t, start(t, echoServer))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "some text"); err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(conn); err != nil || string(got) != "some text" {
		t.Errorf("it sends back %q, %v, want the data that it received", got, err)
	}
}

func TestEchoServerEndsWhileAClientIsConnected(t *testing.T) {
	var conn net.Conn
	t.Cleanup(func() {
		if conn != nil {
			conn.Close() // after the end of the server
		}
	})
	port := start(t, echoServer)
	var err error
	conn, err = dial(t, port)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, "x"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil {
		t.Errorf("it was accepted, but %v", err)
	}
}

func TestPortInUseIsAnError(t *testing.T) {
	port := start(t, serve)
	for _, command := range []string{"serve", "echo-server"} {
		var stderr bytes.Buffer
		if status := run([]string{command, port}, streams{out: io.Discard, err: &stderr}); status != 1 ||
			!strings.Contains(stderr.String(), "address already in use") {
			t.Errorf("%s on a port that is taken = %d and says %q, want 1 and why", command, status, stderr.String())
		}
	}
}

func TestPauseLastsUntilItsContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- pause(ctx, nil, streams{}) }()
	select {
	case err := <-done:
		t.Fatalf("it ended immediately with %v", err)
	default:
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("pause() = %v", err)
	}
}
