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

// httpThrough returns an HTTP client whose connections go through f.
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

// testPortForward checks that a program can reach the ports of a pod directly and through a local port, and that errors
// say why it can't.
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
		once := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		if got, err := get(t, once, "http://"+addr.String()); got != "talker\n" || err != nil {
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
		t.Errorf("Read from a port on which no process listens: %v, want connection refused", err)
	}
	_, err = f.Dial(limit(t), "https")
	if err == nil || !strings.Contains(err.Error(), "has no TCP port https; it has http") {
		t.Errorf("Dial of an unknown port name: %v", err)
	}
	none, err := podVerbs(pods).PortForward("none", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := none.Dial(limit(t), "80"); !errors.Is(err, kube.ErrNotFound) {
		t.Errorf("Dial of a missing pod: %v, want ErrNotFound", err)
	}
}

// testPortForwardMany checks that 50 concurrent connections work independently of each other, and that no goroutine or
// file is left behind.
func testPortForwardMany(t *testing.T, c *kube.Client, pods *kube.API[corev1.Pod]) {
	const many = 50
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
			<-all // no connection is closed before all are open
			if err := echoes(conn, bytes.Repeat(fmt.Appendf(nil, "connection %d ", i), 10_000)); err != nil {
				t.Error(err)
			}
		})
	}
	dialled.Wait()
	t.Logf("opened %d connections in %v", many, time.Since(start))
	close(all)
	running.Wait()
	t.Logf("echoed data on all of them after %v", time.Since(start))
	check()
}

// echoes writes data, and returns an error unless it reads the same data back.
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
		return errors.New("the data that was read back differs")
	}
	return <-failed
}

// testPortForwardService checks that a service is reached through a ready pod, and through another one after that pod
// is deleted.
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
		t.Errorf("Dial without pods: %v", err)
	}
	node := nodeOf(t, c)
	web := func(name string) *corev1.Pod {
		labels := map[string]string{"app": "web"}
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Spec: podSpec(node)}
		serve(&pod.Spec.Containers[0])
		return pod
	}
	startPod(t, pods, web("web-0"))
	l, err := f.Listen(limit(t), "plain", &kube.ListenOptions{
		Addresses: []string{"127.0.0.1"}, OnError: func(err error) { t.Log(err) },
	})
	if err != nil {
		t.Fatal(err)
	}
	background(t, l.Run)
	url := "http://" + l.Addrs()[0].String()
	once := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	responds := func(pod string) {
		t.Helper()
		eventually(t, "the pod "+pod+" responds", func(context.Context) error { // a busy node may break a connection
			got, err := get(t, once, url)
			if err == nil && got != pod+"\n" {
				err = fmt.Errorf("the response is %q", got)
			}
			return err
		})
	}
	responds("web-0")
	startPod(t, pods, web("web-1"))
	if err := pods.Delete(limit(t), "web-0", nil); err != nil {
		t.Fatal(err)
	}
	responds("web-1")
}

// testPodDeletion checks that the deletion of a pod ends each stream with the expected error, and that nothing is left
// behind.
func testPodDeletion(t *testing.T, c *kube.Client, pods *kube.API[corev1.Pod]) {
	own := connect(t, &kube.ClientOptions{Config: c.Config()})
	pods = inSpace(t, pods, own)
	check := leftovers(t, own)
	ends := map[string]chan error{}
	for _, name := range []string{"exec", "attach", "logs", "all logs", "port", "upload"} {
		ends[name] = make(chan error, 1)
	}
	begun := map[string]<-chan struct{}{} // the node may start what is requested later than the request returns
	begins := func(name string) onWrite {
		c := make(chan struct{})
		begun[name] = c
		return sync.OnceFunc(func() { close(c) })
	}
	server := &kube.ExecOptions{Container: "web", Command: []string{"tool", "serve", "8081"}} // prints a line
	p, err := podVerbs(pods).Exec(limit(t), "talker", server)
	if err != nil {
		t.Fatal(err)
	}
	served := begins("exec")
	go func() { ends["exec"] <- p.Run(nil, served, served) }()
	a, err := podVerbs(pods).Attach(limit(t), "talker", &pod.AttachOptions{Container: "lines"})
	if err != nil {
		t.Fatal(err)
	}
	attached := begins("attach")
	go func() { ends["attach"] <- a.Run(nil, attached, nil) }()
	log, err := podVerbs(pods).Logs(limit(t), "talker", &kube.LogOptions{Container: "lines", Follow: true})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	logged := begins("logs")
	go func() {
		_, err := io.Copy(logged, log)
		ends["logs"] <- err
	}()
	allLogs, enough := context.WithCancelCause(limit(t))
	merged := begins("all logs")
	go func() { // MergeLogs continues without the pod until its context ends
		var last error
		for _, err := range kube.MergeLogs(allLogs, pods, &kube.MergeLogsOptions{
			LabelSelector: "app=talker", Log: kube.LogOptions{Follow: true},
		}) {
			merged()
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
	if err := echoes(conn, []byte("hello")); err != nil {
		t.Fatal(err)
	}
	go func() {
		_, err := conn.Read(make([]byte, 1))
		ends["port"] <- errors.Join(err, conn.Close())
	}()
	go func() { ends["upload"] <- uploadWithoutEnd(t, pods) }()
	for name, c := range begun {
		select {
		case <-c:
		case <-limit(t).Done():
			t.Fatalf("%s does not begin", name)
		}
	}
	eventually(t, "the upload begins", func(ctx context.Context) error {
		list := &kube.ExecOptions{Container: "web", Command: []string{"tool", "ls", "/tmp"}}
		p, err := podVerbs(pods).Exec(ctx, "talker", list)
		if err != nil {
			return err
		}
		out, err := p.Output()
		if err == nil && !strings.Contains(string(out), "large") {
			err = fmt.Errorf("/tmp has %q", out)
		}
		return err
	})
	if err := pods.Delete(limit(t), "talker", nil); err != nil {
		t.Fatal(err)
	}
	deadline := limit(t)
	for name, want := range map[string]func(error) bool{
		"exec": func(err error) bool {
			exit, ok := errors.AsType[*kube.ExitError](err)
			return ok && exit.Code == 137
		},
		"attach": func(err error) bool { return err == nil }, // attach does not report how the process ended
		"logs":   func(err error) bool { return err == nil }, // the log has ended
		"port":   func(err error) bool { return errors.Is(err, io.EOF) },
		"upload": func(err error) bool { // servers may cut the connection if input is left unread
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
		t.Errorf("the merged log ended with %v, want the cause of its context", err)
	}
	log.Close()
	eventually(t, "a new stream is refused", func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second) // a kubelet may delay a stream to a terminating container
		defer cancel()
		_, err := podVerbs(pods).Exec(ctx, "talker", server)
		if !errors.Is(err, kube.ErrNotFound) {
			return fmt.Errorf("exec: %w", err)
		}
		return nil
	})
	check()
}

// onWrite is a writer that calls a function for each write.
type onWrite func()

func (f onWrite) Write(p []byte) (int, error) {
	f()
	return len(p), nil
}

// uploadWithoutEnd uploads a file that is so large that the pod is deleted before the end of the upload.
func uploadWithoutEnd(t *testing.T, pods *kube.API[corev1.Pod]) error {
	name := filepath.Join(t.TempDir(), "large")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		return err
	}
	if err := os.Truncate(name, 64<<30); err != nil { // a sparse file, which needs no disk space
		return err
	}
	files := podfiles.In(podVerbs(pods), "talker", &podfiles.Options{Container: "web", Progress: func(podfiles.Progress) {
		<-time.After(20 * time.Millisecond) // per megabyte, so that the pod does not fill its disk
	}})
	_, err := files.Upload(t.Context(), name, "/tmp/large")
	return err
}
