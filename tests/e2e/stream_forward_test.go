// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/kube"
)

// testPortForwardDeployment checks that the deletion of a pod ends its connections, and that new connections reach the
// pod that replaces it.
func testPortForwardDeployment(t *testing.T, c *kube.Client, ns string) {
	deployments, pods := kube.Namespaced[appsv1.Deployment](c, ns), kube.Namespaced[corev1.Pod](c, ns)
	labels := map[string]string{"app": "replica"}
	spec := podSpec("")
	serve(&spec.Containers[0])
	_, err := deployments.Create(limit(t), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "replica"},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: spec},
		},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	f, err := kube.PortForwardTo(limit(t), deployments, "replica", nil)
	if err != nil {
		t.Fatal(err)
	}
	l, err := f.Listen(limit(t), "http", &kube.ListenOptions{
		Addresses: []string{"127.0.0.1"}, OnError: func(err error) { t.Log(err) },
	})
	if err != nil {
		t.Fatal(err)
	}
	background(t, l.Run)
	url := "http://" + l.Addrs()[0].String()
	once := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	responder := func(notFrom string) (name string) {
		t.Helper()
		eventually(t, "a pod responds", func(context.Context) error {
			name, err = get(t, once, url)
			if err == nil && name == notFrom {
				err = fmt.Errorf("the response is still from %q", name)
			}
			return err
		})
		return name
	}
	first := responder("")

	open, err := f.Dial(limit(t), "http")
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	now := &kube.DeleteOptions{GracePeriod: new(time.Duration(0))}
	if err := pods.Delete(limit(t), strings.TrimSpace(first), now); err != nil {
		t.Fatal(err)
	}
	_ = open.SetReadDeadline(time.Now().Add(3 * time.Minute)) // never fails
	if n, err := open.Read(make([]byte, 1)); n > 0 || err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("Read from a connection to a deleted pod = %d, %v, want an error", n, err)
	}
	if second := responder(first); !strings.HasPrefix(second, "replica-") {
		t.Errorf("the response is from %q, want a replica", second)
	}
}

// testPortForwardToClosedPort checks that each connection to a port on which no process listens is reported, and that
// the local port works as soon as a process listens.
func testPortForwardToClosedPort(t *testing.T, pods *kube.API[corev1.Pod]) {
	f, err := podVerbs(pods).PortForward("talker", nil)
	if err != nil {
		t.Fatal(err)
	}
	problems := make(chan error, 10)
	l, err := f.Listen(limit(t), "9090", &kube.ListenOptions{
		Addresses: []string{"127.0.0.1"}, OnError: func(err error) {
			select {
			case problems <- err:
			default: // the process starts slowly: a connection whose OnError does not return would never end
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	background(t, l.Run)
	connection := func() *net.TCPConn {
		t.Helper()
		conn, err := new(net.Dialer).DialContext(limit(t), "tcp", l.Addrs()[0].String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		return conn.(*net.TCPConn)
	}
	for range 2 {
		if n, err := connection().Read(make([]byte, 1)); n > 0 || err == nil || err == io.EOF {
			t.Errorf("Read from a port on which no process listens = %d, %v, want a reset", n, err)
		}
		if err := <-problems; !strings.Contains(err.Error(), "connection refused") {
			t.Errorf("reported error = %v, want connection refused", err)
		}
	}
	server, err := podVerbs(pods).Exec(limit(t), "talker", &kube.ExecOptions{
		Container: "web", Command: []string{"tool", "serve", "9090"}, TTY: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	eventually(t, "the local port responds", func(context.Context) error {
		once := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		got, err := get(t, once, "http://"+l.Addrs()[0].String())
		if err == nil && got != "talker\n" {
			err = fmt.Errorf("the response is %q", got)
		}
		return err
	})

	// A program that closes the connection for writing still receives the response.
	conn := connection()
	if _, err := io.WriteString(conn, "GET /bytes?size=4M HTTP/1.0\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if err := conn.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	response, err := io.ReadAll(conn)
	if err != nil || len(response) < 4<<20 || !strings.HasPrefix(string(response), "HTTP/1.0 200") {
		t.Errorf("after CloseWrite, ReadAll = %d bytes, %v, want a response of 4 MiB", len(response), err)
	}
}
