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
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/kube"
)

// testPortForwardDeployment promises that the death of a pod ends its connections, and that the next ones reach the pod
// that takes its place.
func testPortForwardDeployment(t *testing.T, c *kube.Client, ns string) {
	deployments, pods := kube.Namespaced[appsv1.Deployment](c, ns), kube.Namespaced[corev1.Pod](c, ns)
	labels := map[string]string{"app": "replica"}
	spec := podSpec("")
	spec.Containers[0].Args = []string{"serve", "8080"}
	spec.Containers[0].Ports = []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}}
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
	l, err := f.Listen(limit(t), "http", &kube.ListenOptions{Addresses: []string{"127.0.0.1"}})
	if err != nil {
		t.Fatal(err)
	}
	background(t, l.Run)
	url := "http://" + l.Addrs()[0].String()
	once := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	other := func(than string) (name string) {
		t.Helper()
		eventually(t, "a pod answers", func(context.Context) error {
			name, err = get(t, once, url)
			if err == nil && name == than {
				err = errors.New(than + " answers still")
			}
			return err
		})
		return name
	}
	first := other("")

	open, err := f.Dial(limit(t), "http")
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	if err := pods.Delete(limit(t), strings.TrimSpace(first), &kube.DeleteOptions{GracePeriod: new(time.Duration(0))}); err != nil {
		t.Fatal(err)
	}
	_ = open.SetReadDeadline(time.Now().Add(30 * time.Second)) // never fails
	if n, err := open.Read(make([]byte, 1)); n > 0 || err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a connection to a pod that was killed: %d bytes, %v", n, err)
	}
	if second := other(first); !strings.HasPrefix(second, "replica-") {
		t.Errorf("%q answers", second)
	}
}

// testPortForwardRefused promises that a port on which nothing listens is told for each connection, and that the local
// port serves when something does.
func testPortForwardRefused(t *testing.T, pods *kube.API[corev1.Pod]) {
	f, err := podVerbs(pods).PortForward("talker", nil)
	if err != nil {
		t.Fatal(err)
	}
	problems := make(chan error, 10)
	l, err := f.Listen(limit(t), "9090", &kube.ListenOptions{Addresses: []string{"127.0.0.1"}, OnError: func(err error) { problems <- err }})
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
			t.Errorf("a port on which nothing listens: %d bytes, %v, want a reset", n, err)
		}
		if err := <-problems; !strings.Contains(err.Error(), "connection refused") {
			t.Errorf("the problem is %v, want that the connection was refused", err)
		}
	}
	server, err := podVerbs(pods).Exec(limit(t), "talker", &kube.ExecOptions{Container: "web", Command: []string{"tool", "serve", "9090"}, TTY: true})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	eventually(t, "the port serves", func(context.Context) error {
		got, err := get(t, &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, "http://"+l.Addrs()[0].String())
		if err == nil && got != "talker\n" {
			err = fmt.Errorf("%q answers", got)
		}
		return err
	})

	// A program that sends all it has to say and then listens gets the answer.
	conn := connection()
	if _, err := io.WriteString(conn, "GET /bytes?size=4M HTTP/1.0\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if err := conn.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil || len(answer) < 4<<20 || !strings.HasPrefix(string(answer), "HTTP/1.0 200") {
		t.Errorf("after it had sent all, the program got %d bytes, %v", len(answer), err)
	}
}
