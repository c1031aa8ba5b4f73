package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client"
)

func main() {
	ctx := context.Background()
	c, err := client.New(ctx, nil)
	if err != nil {
		panic(err)
	}
	ns := "w8-try"
	pods := client.Namespaced[corev1.Pod](c, ns)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "echo"}, Spec: corev1.PodSpec{
		TerminationGracePeriodSeconds: new(int64(1)),
		Containers: []corev1.Container{{Name: "main", Image: "kube-go.test/tool:1", ImagePullPolicy: "Never", Args: []string{"echo-server", "7"}},
		{Name: "web", Image: "kube-go.test/tool:1", ImagePullPolicy: "Never", Args: []string{"serve", "8080"}, Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}}}}}}
	_, err = pods.Create(ctx, pod, nil)
	fmt.Println("create", err)
	for {
		p, err := pods.Get(ctx, "echo", nil)
		if err == nil && p.Status.Phase == "Running" {
			break
		}
		time.Sleep(500 * time.Millisecond)
	}
	f, err := pods.PortForward(ctx, "echo", nil)
	fmt.Println(err)
	start := time.Now()
	hc := &http.Client{Transport: &http.Transport{DialContext: f.DialContext}}
	resp, err := hc.Get("http://x:http/")
	if err == nil {
		b, _ := io.ReadAll(resp.Body)
		fmt.Printf("%s %v\n", b, time.Since(start))
	} else {
		fmt.Println(err)
	}
	start = time.Now()
	resp, err = hc.Get("http://x:8080/bytes?size=100M")
	n, err := io.Copy(io.Discard, resp.Body)
	fmt.Println(n, err, time.Since(start))
	hc.CloseIdleConnections()
	start = time.Now()
	conn, err := f.Dial(ctx, "9")
	fmt.Println(err, time.Since(start))
	_, err = conn.Read(make([]byte, 10))
	fmt.Println("read of closed port:", err, time.Since(start))
	start = time.Now()
	conn.Close()
	fmt.Println("close", time.Since(start))

	fmt.Println("goroutines", runtime.NumGoroutine(), "fds", fds())
	start = time.Now()
	var wg sync.WaitGroup
	conns := make([]net.Conn, 200)
	for i := range 200 {
		wg.Go(func() {
			conn, err := f.Dial(ctx, "7")
			if err != nil {
				fmt.Println(i, err)
				return
			}
			conns[i] = conn
		})
	}
	wg.Wait()
	fmt.Println("200 dialled", time.Since(start), "goroutines", runtime.NumGoroutine(), "fds", fds())
	start = time.Now()
	for _, conn := range conns {
		wg.Go(func() {
			b := make([]byte, 256<<10)
			rand.Read(b)
			go conn.Write(b)
			got := make([]byte, len(b))
			if _, err := io.ReadFull(conn, got); err != nil || !bytes.Equal(b, got) {
				fmt.Println("bad", err)
			}
		})
	}
	wg.Wait()
	fmt.Println("200 echoed", time.Since(start))
	start = time.Now()
	for _, conn := range conns {
		wg.Go(func() { conn.Close() })
	}
	wg.Wait()
	fmt.Println("closed", time.Since(start))
	time.Sleep(500 * time.Millisecond)
	fmt.Println("goroutines", runtime.NumGoroutine(), "fds", fds())
}

func fds() int {
	d, _ := os.ReadDir("/proc/self/fd")
	return len(d)
}
