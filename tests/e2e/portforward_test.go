// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kube-go/sdk/client/pod"
	"github.com/kube-go/sdk/client/podfiles"
	"github.com/kube-go/sdk/kube"
)

// httpThrough returns an HTTP client whose connections are forwarded.
func httpThrough(t *testing.T, f *kube.PortForwarder) *http.Client {
	t.Helper()
	transport := &http.Transport{DialContext: f.DialContext}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func get(t *testing.T, c *http.Client, url string) (string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(limit(t), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

// testPortForward promises that programs reach a pod's ports from within and through a local port, and hear why not.
func testPortForward(t *testing.T, pods *kube.API[corev1.Pod]) {
	f, err := podVerbs(pods).PortForward("talker", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := get(t, httpThrough(t, f), "http://talker:8080/"); got != "talker\n" || err != nil {
		t.Errorf("GET / = %q, %v, want the pod's name", got, err)
	}
	if got, err := get(t, httpThrough(t, f), "http://talker:8080/bytes?size=16M"); len(got) != 16<<20 || err != nil {
		t.Errorf("GET /bytes = %d bytes, %v", len(got), err)
	}

	var problems troubles
	l, err := f.Listen(limit(t), "http", &kube.ListenOptions{OnError: problems.add})
	if err != nil {
		t.Fatal(err)
	}
	background(t, l.Run)
	for _, addr := range l.Addrs() {
		if got, err := get(t, &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, "http://"+addr.String()); got != "talker\n" || err != nil {
			t.Errorf("GET / at %v = %q, %v", addr, got, err)
		}
	}
	if err := problems.all(); err != nil {
		t.Error(err)
	}

	conn, err := f.Dial(limit(t), "9")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Read(make([]byte, 1)); err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("a port on which nothing listens: %v", err)
	}
	if _, err := f.Dial(limit(t), "https"); err == nil || !strings.Contains(err.Error(), "has no port https; it has http") {
		t.Errorf("a port that has another name: %v", err)
	}
	none, err := podVerbs(pods).PortForward("none", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := none.Dial(limit(t), "80"); !errors.Is(err, kube.ErrNotFound) {
		t.Errorf("a pod that is not there: %v", err)
	}
}

// testPortForwardMany promises that 200 connections at once work, each for itself, and leave nothing behind.
func testPortForwardMany(t *testing.T, c *kube.Client, pods *kube.API[corev1.Pod]) {
	const many = 200
	own := connect(t, &kube.ClientOptions{Config: c.Config()})
	f, err := podVerbs(inSpace(t, pods, own)).PortForward("talker", nil)
	if err != nil {
		t.Fatal(err)
	}
	check := leftovers(t, own)
	ctx := limit(t)
	start := time.Now()
	var running sync.WaitGroup
	all := make(chan struct{})
	var dialled sync.WaitGroup
	dialled.Add(many)
	for i := range many {
		running.Go(func() {
			conn, err := f.Dial(ctx, "7")
			dialled.Done()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			<-all // none is closed before all are open
			if err := echoes(conn, bytes.Repeat(fmt.Appendf(nil, "connection %d ", i), 10_000)); err != nil {
				t.Error(err)
			}
		})
	}
	dialled.Wait()
	t.Logf("%d connections in %v", many, time.Since(start))
	close(all)
	running.Wait()
	t.Logf("and they have echoed in %v", time.Since(start))
	check()
}

// echoes sends data, and returns an error unless it comes back.
func echoes(conn net.Conn, data []byte) error {
	failed := make(chan error, 1)
	go func() {
		_, err := conn.Write(data)
		failed <- err
	}()
	got := make([]byte, len(data))
	if _, err := io.ReadFull(conn, got); err != nil {
		return err
	}
	if !bytes.Equal(got, data) {
		return errors.New("what comes back differs")
	}
	return <-failed
}

// testPortForwardService promises that a service is reached through a pod that is ready, and another one when that has
// gone.
func testPortForwardService(t *testing.T, c *kube.Client, pods *kube.API[corev1.Pod]) {
	services := kube.Namespaced[corev1.Service](c, pods.Namespace())
	_, err := services.Create(limit(t), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: corev1.ServiceSpec{
			Selector: map[string]string{"app": "web"},
			Ports:    []corev1.ServicePort{{Name: "plain", Port: 80, TargetPort: intstr.FromString("http")}},
		},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	f, err := kube.PortForwardTo(limit(t), services, "web", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Dial(limit(t), "80"); err == nil || !strings.Contains(err.Error(), "no pod has the labels app=web") {
		t.Errorf("without pods: %v", err)
	}
	node := nodeOf(t, c)
	web := func(name string) *corev1.Pod {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "web"}}, Spec: podSpec(node)}
		pod.Spec.Containers[0].Args = []string{"serve", "8080"}
		pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}}
		return pod
	}
	startPod(t, pods, web("web-0"))
	l, err := f.Listen(limit(t), "plain", &kube.ListenOptions{Addresses: []string{"127.0.0.1"}})
	if err != nil {
		t.Fatal(err)
	}
	background(t, l.Run)
	url := "http://" + l.Addrs()[0].String()
	once := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	if got, err := get(t, once, url); got != "web-0\n" || err != nil {
		t.Errorf("the service = %q, %v, want web-0", got, err)
	}
	startPod(t, pods, web("web-1"))
	if err := pods.Delete(limit(t), "web-0", nil); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the other pod answers", func(context.Context) error {
		got, err := get(t, once, url)
		if err == nil && got != "web-1\n" {
			err = fmt.Errorf("%q answers", got)
		}
		return err
	})
}

// testKilled promises that the death of a pod ends each stream, that it is clear why, and that nothing is left behind.
func testKilled(t *testing.T, c *kube.Client, pods *kube.API[corev1.Pod]) {
	own := connect(t, &kube.ClientOptions{Config: c.Config()})
	pods = inSpace(t, pods, own)
	check := leftovers(t, own)
	ends := map[string]chan error{}
	for _, name := range []string{"exec", "attach", "logs", "all logs", "port", "upload"} {
		ends[name] = make(chan error, 1)
	}
	p, err := podVerbs(pods).Exec(limit(t), "talker", &kube.ExecOptions{Container: "web", Command: []string{"tool", "pause"}})
	if err != nil {
		t.Fatal(err)
	}
	go func() { ends["exec"] <- p.Run(nil, nil, nil) }()
	a, err := podVerbs(pods).Attach(limit(t), "talker", &pod.AttachOptions{Container: "lines"})
	if err != nil {
		t.Fatal(err)
	}
	go func() { ends["attach"] <- a.Run(nil, nil, nil) }()
	log, err := podVerbs(pods).Logs(limit(t), "talker", &kube.LogOptions{Container: "lines", Follow: true})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	go func() {
		_, err := io.Copy(io.Discard, log)
		ends["logs"] <- err
	}()
	allLogs, enough := context.WithCancelCause(limit(t))
	following := make(chan struct{})
	go func() { // which goes on without the pod, until it is told to end
		var last error
		begun := sync.OnceFunc(func() { close(following) })
		for _, err := range kube.MergeLogs(allLogs, pods, &kube.MergeLogsOptions{LabelSelector: "app=talker", Log: kube.LogOptions{Follow: true}}) {
			begun()
			last = err
		}
		ends["all logs"] <- last
	}()
	f, err := podVerbs(pods).PortForward("talker", nil)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := f.Dial(limit(t), "7")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		_, err := conn.Read(make([]byte, 1))
		ends["port"] <- errors.Join(err, conn.Close())
	}()
	uploading := make(chan struct{})
	go func() { ends["upload"] <- uploadWithoutEnd(t, pods, sync.OnceFunc(func() { close(uploading) })) }()
	for what, begun := range map[string]<-chan struct{}{"the upload": uploading, "following all logs": following} {
		select {
		case <-begun:
		case <-limit(t).Done():
			t.Fatalf("%s does not begin", what)
		}
	}
	if err := pods.Delete(limit(t), "talker", nil); err != nil {
		t.Fatal(err)
	}
	deadline := limit(t)
	for name, want := range map[string]func(error) bool{
		"exec": func(err error) bool {
			exit, ok := errors.AsType[*kube.ExitError](err)
			return ok && exit.Code == 137
		},
		"attach": func(err error) bool { return err == nil }, // it says nothing of how the process ended
		"logs":   func(err error) bool { return err == nil }, // there is no more
		"port":   func(err error) bool { return errors.Is(err, io.EOF) },
		"upload": func(err error) bool { // servers may break off when input is left unread
			exit, ok := errors.AsType[*kube.ExitError](err)
			return ok && exit.Code == 137 || errors.Is(err, io.ErrUnexpectedEOF)
		},
	} {
		select {
		case err := <-ends[name]:
			if !want(err) {
				t.Errorf("%s ended with %v", name, err)
			}
		case <-deadline.Done():
			t.Fatalf("%s does not end", name)
		}
	}
	enough(errStopped)
	if err := <-ends["all logs"]; !errors.Is(err, errStopped) {
		t.Errorf("following all logs ended with %v", err)
	}
	log.Close()
	eventually(t, "a new stream is refused", func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second) // a kubelet may hold up a stream to a container that ends
		defer cancel()
		_, err := podVerbs(pods).Exec(ctx, "talker", &kube.ExecOptions{Container: "web", Command: []string{"tool", "pause"}})
		if !errors.Is(err, kube.ErrNotFound) {
			return fmt.Errorf("exec: %w", err)
		}
		return nil
	})
	check()
}

// uploadWithoutEnd uploads a file of which the pod will not live to see the end.
func uploadWithoutEnd(t *testing.T, pods *kube.API[corev1.Pod], begun func()) error {
	name := filepath.Join(t.TempDir(), "large")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		return err
	}
	if err := os.Truncate(name, 64<<30); err != nil { // with nothing in it, so it takes no room
		return err
	}
	files := podfiles.In(podVerbs(pods), "talker", &podfiles.Options{Container: "web", Progress: func(podfiles.Progress) {
		begun()
		<-time.After(20 * time.Millisecond) // for a megabyte, lest the pod's disk be filled
	}})
	_, err := files.Upload(t.Context(), name, "/tmp/large")
	return err
}
