// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package pod_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/gorilla/websocket"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/pod"
	"github.com/kube-go/sdk/core/request"
)

// streamExample is a server with the pod web-0. Its commands print their arguments, or their input in upper case. Its
// port 8080 serves HTTP.
func streamExample(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.HasSuffix(r.URL.Path, "/log"):
		fmt.Fprint(w, "2026-01-02T15:04:05Z listening on port 8080\n2026-01-02T15:04:07Z ready\n")
		return
	case strings.HasSuffix(r.URL.Path, "/pods"):
		p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-0", Namespace: "prod", UID: "1"}}
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", ContainerID: "containerd://1"}}
		list := corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, Items: []corev1.Pod{p}}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(list)
		return
	}
	upgrader := websocket.Upgrader{Subprotocols: []string{"v5.channel.k8s.io", "v4.channel.k8s.io"}}
	ws, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	defer func() { _ = ws.Close() }()
	send := func(channel byte, data string) {
		_ = ws.WriteMessage(websocket.BinaryMessage, append([]byte{channel}, data...))
	}
	if strings.HasSuffix(r.URL.Path, "/portforward") {
		send(0, "\x90\x1f")
		send(1, "\x90\x1f")
		_, _, _ = ws.ReadMessage()
		send(0, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello")
		hangUp(ws, websocket.CloseNormalClosure, "")
		return
	}
	command := r.URL.Query()["command"]
	for r.URL.Query().Get("stdin") == "true" {
		_, message, err := ws.ReadMessage()
		if err != nil || message[0] == 255 {
			break
		}
		send(1, strings.ToUpper(string(message[1:])))
	}
	if status := `{"status":"Success"}`; len(command) > 0 && command[0] == "false" {
		send(3, exited("1"))
	} else {
		send(1, strings.Join(command, " "))
		send(3, status)
	}
	hangUp(ws, websocket.CloseNormalClosure, "")
}

// connectStreams returns a client of a server of streams, and a function that stops the server. Programs call
// client.New(ctx, nil) instead.
func connectStreams() (c *client.Client, stop func()) {
	s := httptest.NewServer(http.HandlerFunc(streamExample))
	c, err := client.New(context.Background(), &client.Options{Config: &config.Config{Server: s.URL}})
	if err != nil {
		panic(err)
	}
	return c, s.Close
}

func ExampleAPI_Exec() {
	c, stop := connectStreams()
	defer stop()
	ctx := context.Background()
	pods := pod.In(c, "prod")
	p, err := pods.Exec(ctx, "web-0", &pod.ExecOptions{Command: []string{"ls", "/var/www"}})
	if err != nil {
		panic(err)
	}
	out, err := p.Output()
	fmt.Printf("%s %v\n", out, err)

	if p, err = pods.Exec(ctx, "web-0", &pod.ExecOptions{Command: []string{"false"}}); err != nil {
		panic(err)
	}
	_, err = p.Output()
	exit, _ := errors.AsType[*pod.ExitError](err)
	fmt.Println(exit.Code, err)
	// Output:
	// ls /var/www <nil>
	// 1 exec pods prod/web-0: exit status 1
}

func ExampleProcess_Run() {
	c, stop := connectStreams()
	defer stop()
	pods := pod.In(c, "prod")
	p, err := pods.Exec(context.Background(), "web-0", &pod.ExecOptions{Command: []string{"tr", "a-z", "A-Z"}, Stdin: true})
	if err != nil {
		panic(err)
	}
	var out bytes.Buffer
	err = p.Run(strings.NewReader("hello\n"), &out, os.Stderr)
	fmt.Print(out.String(), err)
	// Output:
	// HELLO
	// tr a-z A-Z<nil>
}

func ExampleAPI_Attach() {
	c, stop := connectStreams()
	defer stop()
	p, err := pod.In(c, "prod").Attach(context.Background(), "web-0", &pod.AttachOptions{Stdin: true})
	if err != nil {
		panic(err)
	}
	defer p.Close()
	fmt.Fprint(p.Stdin, "hello")
	output := make([]byte, 5)
	_, err = io.ReadFull(p.Stdout, output)
	fmt.Printf("%s %v\n", output, err)
	// Output: HELLO <nil>
}

func ExampleAPI_Logs() {
	c, stop := connectStreams()
	defer stop()
	body, err := pod.In(c, "prod").Logs(context.Background(), "web-0", &request.LogOptions{TailLines: new(int64(10))})
	if err != nil {
		panic(err)
	}
	defer body.Close()
	_, err = io.Copy(os.Stdout, body)
	fmt.Println(err)
	// Output:
	// 2026-01-02T15:04:05Z listening on port 8080
	// 2026-01-02T15:04:07Z ready
	// <nil>
}

func ExampleAPI_LogLines() {
	c, stop := connectStreams()
	defer stop()
	pods := pod.In(c, "prod")
	for line, err := range pods.LogLines(context.Background(), "web-0", &request.LogOptions{Timestamps: true}) {
		fmt.Println(line.Time.Second(), line.Text, err)
	}
	// Output:
	// 5 listening on port 8080 <nil>
	// 7 ready <nil>
}

func ExampleAPI_PortForward() {
	c, stop := connectStreams()
	defer stop()
	forwarder, err := pod.In(c, "prod").PortForward("web-0", nil)
	if err != nil {
		panic(err)
	}
	web := &http.Client{Transport: &http.Transport{DialContext: forwarder.DialContext}}
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://web-0:8080/", nil)
	if err != nil {
		panic(err)
	}
	resp, err := web.Do(req)
	if err != nil {
		panic(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	fmt.Println(string(body), err)
	// Output: hello <nil>
}

func ExamplePortForwarder_Listen() {
	c, stop := connectStreams()
	defer stop()
	ctx, cancel := context.WithCancelCause(context.Background())
	forwarder, err := pod.In(c, "prod").PortForward("web-0", nil)
	if err != nil {
		panic(err)
	}
	listener, err := forwarder.Listen(ctx, "8080", &pod.ListenOptions{Addresses: []string{"127.0.0.1"}})
	if err != nil {
		panic(err)
	}
	done := make(chan error)
	go func() { done <- listener.Run(ctx) }()
	for _, addr := range listener.Addrs() { // pass an address to a program, such as a browser
		fmt.Println(addr.Network(), addr.(*net.TCPAddr).IP)
	}
	cancel(errors.New("finished"))
	fmt.Println(<-done)
	// Output:
	// tcp 127.0.0.1
	// finished
}
