// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package manager_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/controller"
	"github.com/kube-go/sdk/runtime/manager"
)

// freeAddr returns the address of a port that nothing listens to.
func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// get returns the status code and the body of a response, or 0 while nothing listens.
func get(t *testing.T, addr, path string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addr+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// eventually waits until a path has a status code.
func eventually(t *testing.T, addr, path string, want int) {
	t.Helper()
	for {
		code, body := get(t, addr, path)
		if code == want {
			return
		}
		select {
		case <-t.Context().Done():
			t.Fatalf("%s: %d %s, want %d", path, code, body, want)
		case <-time.After(10 * time.Millisecond): // real sockets do not work in bubbles
		}
	}
}

// failing is a check whose error can be set.
type failing struct{ err atomic.Pointer[string] }

func (f *failing) set(err string) { f.err.Store(&err) }

func (f *failing) check(context.Context) error {
	if s := f.err.Load(); s != nil && *s != "" {
		return fmt.Errorf("%s", *s)
	}
	return nil
}

func TestHealthEndpoints(t *testing.T) {
	s := newServer()
	c := connect(t, s, nil)
	var cut atomic.Bool
	cut.Store(true)
	late := cache.New(connect(t, s, &cut), &cache.Options{Logger: discard})
	var logs bytes.Buffer
	addr := freeAddr(t)
	m := manager.New(c, &manager.Options{
		HealthAddr: addr, MetricsAddr: addr, LeaderElection: "shop", Logger: slog.New(slog.NewTextHandler(&logs, nil)),
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "numbers") }),
	})
	enter, leave := make(chan struct{}), make(chan struct{})
	ctl := controller.New(controller.For[corev1.ConfigMap](late), &controller.Options{
		Logger: discard, RunTimeout: time.Millisecond, Name: "maps",
	})
	m.Add(ctl.With(func(context.Context, *corev1.ConfigMap) (controller.Action, error) {
		close(enter)
		<-leave
		return controller.AwaitChange(), nil
	}))
	database := &failing{}
	m.AddCheck("database", database.check)
	stop, result := run(t, m)

	eventually(t, addr, "/livez", 200)
	if code, body := get(t, addr, "/metrics"); code != 200 || body != "numbers" {
		t.Errorf("/metrics: %d %s", code, body)
	}
	eventually(t, addr, "/readyz", 500)
	cut.Store(false)
	eventually(t, addr, "/readyz", 200)
	database.set("password=hunter2 is wrong")
	eventually(t, addr, "/readyz/database", 500)
	for _, tt := range []struct {
		path string
		code int
		body string
	}{
		{"/livez", 200, "ok"},
		{"/healthz", 200, "ok"},
		{"/livez?verbose", 200, "[+]ping ok\n[+]runs-maps ok\nlivez check passed\n"},
		{
			"/readyz", 500, "[+]running ok\n[+]sources-maps ok\n[-]database failed: reason withheld\nreadyz check failed\n",
		},
		{"/readyz?exclude=database", 200, "ok"},
		{
			"/readyz?exclude=database&verbose", 200,
			"[+]running ok\n[+]sources-maps ok\n[+]database excluded: ok\nreadyz check passed\n",
		},
		{"/readyz/database", 500, "[-]database failed: reason withheld\nreadyz check failed\n"},
		{"/readyz/nothing", 404, "404 page not found\n"},
		{"/", 404, "404 page not found\n"},
	} {
		if code, body := get(t, addr, tt.path); code != tt.code || body != tt.body {
			t.Errorf("%s: %d %q, want %d %q", tt.path, code, body, tt.code, tt.body)
		}
	}
	database.set("")
	eventually(t, addr, "/readyz", 200)

	s.Put(resource[corev1.ConfigMap](), &corev1.ConfigMap{ObjectMeta: meta("slow")})
	<-enter
	eventually(t, addr, "/readyz", 200) // a replica whose run is slow is ready
	close(leave)
	stop(errStop)
	if err := <-result; !strings.Contains(err.Error(), errStop.Error()) {
		t.Error(err)
	}
	if code, _ := get(t, addr, "/livez"); code != 0 {
		t.Errorf("/livez after Run: %d", code)
	}
	if n := strings.Count(logs.String(), "password=hunter2 is wrong"); n != 1 {
		t.Errorf("the error of the check is logged %d times, want once:\n%s", n, logs.String())
	}
}
