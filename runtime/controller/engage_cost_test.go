// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"bufio"
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/controller"
	"github.com/kube-go/sdk/runtime/internal/fakeapi"
	"github.com/kube-go/sdk/runtime/watcher"
)

// serveEnv makes the test binary a server, which prints its URL and its certificate.
const serveEnv = "CONTROLLER_TEST_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(serveEnv) != "" {
		serve()
		return
	}
	if underRace { // the detector crashes if two threads run timers of a bubble at the same time: https://go.dev/issue/78156
		runtime.GOMAXPROCS(1)
	}
	m.Run()
}

// serve serves an object of each kind until the input ends.
func serve() {
	api := fakeapi.New(documents, pages, shelves)
	api.Put(documents, doc("prod/a", "1"))
	api.Put(pages, pageOf("prod/p"))
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		response, err := api.RoundTrip(r)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		defer response.Body.Close()
		w.Header().Set("Content-Type", response.Header.Get("Content-Type"))
		w.WriteHeader(response.StatusCode)
		flush := http.NewResponseController(w).Flush
		_ = flush()
		for buf := make([]byte, 4096); ; {
			n, err := response.Body.Read(buf)
			if _, failed := w.Write(buf[:n]); failed != nil || err != nil {
				return
			}
			_ = flush()
		}
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	fmt.Fprintf(os.Stdout, "%s\n%s\n", s.URL, certificate) // an empty line is the end
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// newServerProcess starts a server in another process, so that this process has only what a client needs.
func newServerProcess(t testing.TB) *config.Config {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), serveEnv+"=1")
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		_ = cmd.Wait()
	})
	var cfg config.Config
	for lines := bufio.NewScanner(stdout); lines.Scan() && lines.Text() != ""; {
		if cfg.Server == "" {
			cfg.Server = lines.Text()
		} else {
			cfg.CAData = append(cfg.CAData, lines.Text()+"\n"...)
		}
	}
	return &cfg
}

// The maximum cost of an idle engaged cluster: of two watches and the connection. The objects come on top.
const (
	maxGoroutines = 10
	maxHeap       = 200_000 // bytes
)

func heap() int64 {
	runtime.GC()
	runtime.GC() // also frees what pools have kept
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// settle waits until a condition holds, since connections and their goroutines begin and end asynchronously.
func settle(t *testing.T, what string, done func() bool) {
	t.Helper()
	tick, late := time.NewTicker(time.Millisecond), time.After(time.Minute)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-late:
			buf := make([]byte, 1<<20)
			t.Fatalf("%s: %d goroutines:\n%s", what, runtime.NumGoroutine(), buf[:runtime.Stack(buf, true)])
		}
	}
}

// steady returns the number of goroutines when it no longer changes. Connections become idle asynchronously, so it
// closes idle ones until then.
func steady(t *testing.T, clients ...*client.Client) (n int) {
	t.Helper()
	same := 0
	settle(t, "want a steady number", func() bool {
		for _, c := range clients {
			c.CloseIdleConnections()
		}
		before := n
		n = runtime.NumGoroutine()
		if same++; n != before {
			same = 0
		}
		return same == 200
	})
	return n
}

// watched waits until the server has accepted both watches of a cluster.
func watched(t *testing.T, w *world) {
	t.Helper()
	settle(t, "want two watches", func() bool {
		return viewOf[document](w).Status().Phase == watcher.Watching && viewOf[page](w).Status().Phase == watcher.Watching
	})
}

func TestIdleEngagedClusterCostsAtMostTenGoroutinesAnd200KB(t *testing.T) {
	const clusters = 20
	cfg := newServerProcess(t)
	newCluster := func(name string) *world {
		c, err := client.New(t.Context(), &client.Options{Config: cfg})
		if err != nil {
			t.Fatal(err)
		}
		return &world{client: c, cache: cache.New(c, &cache.Options{Cluster: name})}
	}
	hub := newCluster("hub")
	runs := make(chan string)
	c := controller.New(controller.For[document](hub.cache), &controller.Options{
		OnResult: func(r controller.Result) { runs <- r.Key.Cluster },
	}).Owns(controller.Source[page](hub.cache))
	ctx, stop := context.WithCancelCause(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx, idle) }()
	defer func() {
		stop(errStop)
		if err := <-ended; err != errStop {
			t.Errorf("Run() = %v, want the cause", err)
		}
	}()
	<-runs
	watched(t, hub)
	goroutines, bytes := steady(t, hub.client), heap()
	var leave []func()
	var clients []*client.Client
	for i := range clusters {
		spoke := newCluster(fmt.Sprint("spoke-", i))
		ctx, cancel := context.WithCancelCause(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.Engage(ctx, spoke.cache) }()
		<-runs // its existing object
		watched(t, spoke)
		leave = append(leave, func() {
			cancel(errLeave)
			if err := <-ended; err != errLeave {
				t.Errorf("Engage() = %v, want the cause", err)
			}
		})
		clients = append(clients, spoke.client)
	}
	n, cost := steady(t, clients...)-goroutines, (heap()-bytes)/clusters
	t.Logf("a cluster costs %.1f goroutines and %d bytes", float64(n)/clusters, cost)
	if n > clusters*maxGoroutines || cost > maxHeap {
		t.Errorf("a cluster costs %d goroutines and %d bytes, want at most %d and %d", n/clusters, cost, maxGoroutines, maxHeap)
	}
	for _, l := range leave {
		l()
	}
	if left := steady(t, clients...) - goroutines; left != 0 {
		t.Errorf("the clusters have left %d goroutines", left)
	}
}

func TestClusterThatHasLeftIsFreedAfterAMinute(t *testing.T) {
	const (
		clusters = 20
		maxLeft  = 10_000 // bytes for each of them
	)
	synctest.Test(t, func(t *testing.T) {
		hub := newCluster(t, "hub")
		o := &controller.Options{RecordChanges: true, OnGone: func(context.Context, controller.Key) {}}
		c := controller.New(controller.For[document](hub.cache), o).Owns(controller.Source[page](hub.cache)).
			Watches(controller.Source[page](hub.cache).Map(of))
		start(t, c, func(ctx context.Context, d *document) (controller.Action, error) {
			return controller.RequeueAfter(time.Hour), nil
		})
		visit := func(name string) weak.Pointer[cache.Cache] {
			spoke := newCluster(t, name)
			spoke.Put(documents, doc("prod/a", "1"))
			spoke.Put(pages, pageAbout("a"))
			leave := engage(t, c, spoke)
			spoke.Put(documents, doc("prod/a", "2"))
			spoke.Delete(pages, ref("prod/p"))
			synctest.Wait()
			leave()
			return weak.Make(spoke.cache)
		}
		visit("first") // so that pools and maps have their sizes
		after(time.Minute)
		before := heap()
		caches := make(map[int]weak.Pointer[cache.Cache])
		for i := range clusters {
			caches[i] = visit(fmt.Sprint("spoke-", i))
		}
		engaged := heap() - before
		after(time.Minute)
		left := heap() - before
		t.Logf("a cluster has left %d bytes after a minute, and %d immediately", left/clusters, engaged/clusters)
		if left > clusters*maxLeft {
			t.Errorf("a cluster has left %d bytes, want at most %d", left/clusters, maxLeft)
		}
		for i, p := range caches {
			if p.Value() != nil {
				t.Errorf("the cache of cluster %d is not freed", i)
			}
		}
	})
}
