// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package manager_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/controller"
	"github.com/kube-go/sdk/runtime/manager"
	"github.com/kube-go/sdk/runtime/sharding"
	"github.com/kube-go/sdk/runtime/webhook"
)

// freeAddr returns the address of a port that nothing listens to. Linux has many loopback addresses, so it is not one
// that another program gets meanwhile.
func freeAddr(t *testing.T) string {
	t.Helper()
	host := "127.0.0.1"
	if runtime.GOOS == "linux" {
		host = fmt.Sprintf("127.%d.%d.%d", 1+rand.N(254), rand.N(256), 1+rand.N(254))
	}
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", host+":0")
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
	late := cache.New(connect(t, s, &cut), &cache.Options{Cluster: "eu", Logger: discard})
	var logs bytes.Buffer
	addr := freeAddr(t)
	m := manager.New(c, &manager.Options{
		HealthAddr: addr, MetricsAddr: addr, LeaderElection: "shop", Logger: slog.New(slog.NewTextHandler(&logs, nil)),
		MetricsHandler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "numbers") }),
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
	database, loop := &failing{}, &failing{}
	m.AddReadinessCheck("database", database.check)
	m.AddReadinessCheck("db/primary 50%", func(context.Context) error { return nil })
	m.AddLivenessCheck("loop", loop.check)
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
		{"/livez?verbose", 200, "[+]ping ok\n[+]runs-maps ok\n[+]loop ok\nlivez check passed\n"},
		{
			"/readyz", 500, "[+]running ok\n[+]lease-shop ok\n[+]sources-maps ok\n" +
				"[-]database failed: reason withheld\n[+]db/primary 50% ok\nreadyz check failed\n",
		},
		{"/readyz?exclude=database", 200, "ok"},
		{
			"/readyz?exclude=database&verbose", 200,
			"[+]running ok\n[+]lease-shop ok\n[+]sources-maps ok\n[+]database excluded: ok\n[+]db/primary 50% ok\n" +
				"readyz check passed\n",
		},
		{"/readyz/database", 500, "[-]database failed: reason withheld\nreadyz check failed\n"},
		{"/readyz/db/primary%2050%25", 200, "ok"},
		{"/readyz/nothing", 404, "404 page not found\n"},
		{"/readyz/", 404, "404 page not found\n"},
		{"/", 404, "404 page not found\n"},
	} {
		if code, body := get(t, addr, tt.path); code != tt.code || body != tt.body {
			t.Errorf("%s: %d %q, want %d %q", tt.path, code, body, tt.code, tt.body)
		}
	}
	database.set("")
	eventually(t, addr, "/readyz", 200)

	loop.set("it does not progress")
	eventually(t, addr, "/livez/loop", 500)
	for _, path := range []string{"/livez", "/healthz"} {
		const want = "[+]ping ok\n[+]runs-maps ok\n[-]loop failed: reason withheld\n"
		if code, body := get(t, addr, path); code != 500 || !strings.HasPrefix(body, want) {
			t.Errorf("%s with a failing check: %d %q", path, code, body)
		}
	}
	eventually(t, addr, "/readyz", 200)
	loop.set("")
	eventually(t, addr, "/livez", 200)

	s.Put(resource[corev1.ConfigMap](), &corev1.ConfigMap{ObjectMeta: meta("slow")})
	<-enter
	eventually(t, addr, "/readyz", 200) // a replica whose run is slow is ready
	close(leave)
	stop(errStop)
	if err := <-result; err != nil {
		t.Error(err)
	}
	if code, _ := get(t, addr, "/livez"); code != 0 {
		t.Errorf("/livez after Run: %d", code)
	}
	if n := strings.Count(logs.String(), "password=hunter2 is wrong"); n != 1 {
		t.Errorf("the error of the check is logged %d times, want once:\n%s", n, logs.String())
	}
	if want := "the source configmaps of the cluster eu is not synced"; !strings.Contains(logs.String(), want) {
		t.Errorf("the log does not have %q:\n%s", want, logs.String())
	}
}

// TestHealthEndpointStopsLast checks that the endpoints respond until everything has stopped, and that the replica is
// alive and not ready meanwhile.
func TestHealthEndpointStopsLast(t *testing.T) {
	leave := make(chan struct{})
	addr := freeAddr(t)
	m := manager.New(connect(t, newServer(), nil), &manager.Options{HealthAddr: addr, Logger: discard})
	m.AddToAll(runFunc(func(ctx context.Context) error {
		<-ctx.Done()
		<-leave
		return context.Cause(ctx)
	}))
	stop, result := run(t, m)
	eventually(t, addr, "/readyz", 200)
	stop(errStop)
	eventually(t, addr, "/readyz", 500)
	if code, body := get(t, addr, "/livez"); code != 200 {
		t.Errorf("/livez while a server stops: %d %s", code, body)
	}
	if code, body := get(t, addr, "/readyz/running"); code != 500 {
		t.Errorf("/readyz/running while a server stops: %d %s", code, body)
	}
	close(leave)
	if err := <-result; err != nil {
		t.Error(err)
	}
	if code, _ := get(t, addr, "/livez"); code != 0 {
		t.Errorf("/livez after Run: %d", code)
	}
}

// TestMetricsAndDebugPageOfEverything checks that the address is enough to serve the metrics of a controller, of the
// caches of its views and of other views, of webhooks, and of the election; that the debug page has them, too; and that
// two controllers must have different names.
func TestMetricsAndDebugPageOfEverything(t *testing.T) {
	s := newServer()
	c := connect(t, s, nil)
	s.Put(resource[corev1.ConfigMap](), &corev1.ConfigMap{ObjectMeta: meta("a")})
	addr := freeAddr(t)
	m := manager.New(c, &manager.Options{
		MetricsAddr: addr, DebugAddr: addr, LeaderElection: "shop", Logger: discard,
	})
	reconcile := func(context.Context, *corev1.ConfigMap) (controller.Action, error) {
		return controller.AwaitChange(), nil
	}
	maps := controller.For[corev1.ConfigMap](cache.New(c, &cache.Options{Cluster: "east"}))
	m.Add(controller.New(maps, &controller.Options{Logger: discard}).With(reconcile))
	m.AddToAll(cache.Of[corev1.ConfigMap](cache.New(c, &cache.Options{Cluster: "west"}), nil))
	hooks := webhook.NewServer(nil, &webhook.Options{
		Addr: "127.0.0.1:0", CertDir: t.TempDir(), StopDelay: -1, Logger: discard,
	})
	hooks.Handle("/validate", http.NotFoundHandler())
	m.AddToAll(hooks)
	stop, result := run(t, m)
	want := []string{
		`controller_runtime_reconcile_total{controller="configmap",result="success"} 1`,
		`controller_runtime_webhook_requests_total{webhook="/validate",code="200"} 0`,
		`kube_watch_objects{cluster="east",resource="configmaps"} 1`,
		`kube_watch_objects{cluster="west",resource="configmaps"} 1`,
		`leader_election_master_status{name="shop"} 1`,
		`go_info{version="` + runtime.Version() + `"} 1`,
	}
	for missing := want; len(missing) > 0; {
		_, body := get(t, addr, "/metrics")
		missing = slices.DeleteFunc(slices.Clone(want), func(line string) bool { return strings.Contains(body, line+"\n") })
		select {
		case <-t.Context().Done():
			t.Fatalf("the metrics do not have %v:\n%s", missing, body)
		case <-time.After(10 * time.Millisecond): // real sockets do not work in bubbles
		}
	}
	if code, body := get(t, addr, "/debug/controllers"); code != 200 || !strings.Contains(body, "<title>Controllers") {
		t.Errorf("the debug page: %d\n%s", code, body)
	}
	code, body := get(t, addr, "/debug/controllers/data")
	for _, part := range []string{
		`"name":"configmap"`, `"cluster":"west","resource":"configmaps"`, `"lease":"prod/shop"`,
	} {
		if code != 200 || !strings.Contains(body, part) {
			t.Errorf("the debug page does not have %s: %d\n%s", part, code, body)
		}
	}
	stop(errStop)
	if err := <-result; err != nil {
		t.Error(err)
	}

	m = manager.New(c, nil)
	m.Add(controller.New(maps, nil).With(reconcile))
	m.Add(controller.New(maps, nil).With(reconcile))
	if err := m.Run(t.Context()); err == nil || !strings.Contains(err.Error(), `two controllers are named "configmap"`) {
		t.Errorf("Run() = %v with two controllers of the same name", err)
	}
}

func TestErrorOfAViewNamesItsResource(t *testing.T) {
	c := connect(t, newServer(), nil)
	m := manager.New(c, &manager.Options{Logger: discard})
	m.Add(cache.Of[corev1.ConfigMap](cache.New(c, &cache.Options{Logger: discard}), &cache.Selection{LabelSelector: "a in"}))
	if err := m.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "view of configmaps: ") {
		t.Errorf("Run() = %v, want an error of the view of configmaps", err)
	}
}

// TestMetricsAndDebugPageOfShards checks that the metrics and the debug page of a manager have its shards.
func TestMetricsAndDebugPageOfShards(t *testing.T) {
	s, addr := newServer(), freeAddr(t)
	c := connect(t, s, nil)
	m := manager.New(c, &manager.Options{
		MetricsAddr: addr, DebugAddr: addr, Logger: discard,
		Sharding: "shop", ShardingOptions: &sharding.Options{Identity: "a"},
	})
	view := cache.Of[corev1.ConfigMap](cache.New(c, &cache.Options{Logger: discard}), &cache.Selection{Sharded: true})
	ctl := controller.New(controller.ForView(view), &controller.Options{Logger: discard})
	m.Add(ctl.With(func(context.Context, *corev1.ConfigMap) (controller.Action, error) {
		return controller.AwaitChange(), nil
	}))
	stop, result := run(t, m)
	const want = `kube_sharding_slots{name="shop"} 256` + "\n"
	for body := ""; !strings.Contains(body, want) || view.Status().Lists == 0; _, body = get(t, addr, "/metrics") {
		select {
		case <-t.Context().Done():
			t.Fatalf("the metrics do not have %s:\n%s", want, body)
		case <-time.After(10 * time.Millisecond): // real sockets do not work in bubbles
		}
	}
	for _, part := range []string{
		`{"title":"Shards of shop","columns":["member","slots of 256"],"rows":[["a","0-255"]]`,
		`"resource":"configmaps","selection":"sharded by the server"`,
	} {
		if code, body := get(t, addr, "/debug/controllers/data"); code != 200 || !strings.Contains(body, part) {
			t.Errorf("the debug page does not have %s: %d\n%s", part, code, body)
		}
	}
	stop(errStop)
	if err := <-result; err != nil {
		t.Error(err)
	}
}

func TestViewThatEveryReplicaRunsIsACheckOfReadiness(t *testing.T) {
	var cut atomic.Bool
	cut.Store(true)
	view := cache.Of[corev1.ConfigMap](cache.New(connect(t, newServer(), &cut), &cache.Options{Logger: discard}), nil)
	var logs bytes.Buffer
	addr := freeAddr(t)
	m := manager.New(nil, &manager.Options{HealthAddr: addr, Logger: slog.New(slog.NewTextHandler(&logs, nil))})
	m.AddToAll(view)
	stop, result := run(t, m)
	eventually(t, addr, "/readyz/view-configmaps", 500)
	cut.Store(false)
	eventually(t, addr, "/readyz/view-configmaps", 200)
	stop(errStop)
	if err := <-result; err != nil {
		t.Error(err)
	}
	for _, want := range []string{
		"the view of configmaps is not synced", `msg=serving addr=` + addr + ` paths="/livez /healthz /readyz"`,
	} {
		if !strings.Contains(logs.String(), want) {
			t.Errorf("the log lacks %s:\n%s", want, &logs)
		}
	}
}

// TestEachViewOfAKindHasACheck checks the names of the checks of two views, of which the first never syncs, and that
// the failure of one is logged once, also if a check of liveness has the same name.
func TestEachViewOfAKindHasACheck(t *testing.T) {
	silent := middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		return nil, context.Cause(r.Context())
	})
	var logs bytes.Buffer
	addr := freeAddr(t)
	m := manager.New(nil, &manager.Options{HealthAddr: addr, Logger: slog.New(slog.NewTextHandler(&logs, nil))})
	var last *cache.View[corev1.ConfigMap]
	for _, server := range []http.RoundTripper{silent, newServer()} {
		last = cache.Of[corev1.ConfigMap](cache.New(connect(t, server, nil), &cache.Options{Logger: discard}), nil)
		m.AddToAll(last)
	}
	m.AddLivenessCheck("view-configmaps", func(context.Context) error { return nil })
	stop, result := run(t, m)
	if err := last.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	if code, body := get(t, addr, "/readyz/view-configmaps-2"); code != 200 {
		t.Errorf("the check of the second view: %d %q", code, body)
	}
	const want = "[+]running ok\n[-]view-configmaps failed: reason withheld\n[+]view-configmaps-2 ok\n" +
		"readyz check failed\n"
	for range 2 {
		if code, body := get(t, addr, "/livez/view-configmaps"); code != 200 {
			t.Errorf("/livez/view-configmaps: %d %q", code, body)
		}
		if code, body := get(t, addr, "/readyz"); code != 500 || body != want {
			t.Errorf("/readyz: %d %q, want 500 %q", code, body, want)
		}
	}
	if code, body := get(t, addr, "/readyz?exclude=view-configmaps"); code != 200 {
		t.Errorf("/readyz without the view that fails: %d %q", code, body)
	}
	stop(errStop)
	if err := <-result; err != nil {
		t.Error(err)
	}
	if n := strings.Count(logs.String(), "check=view-configmaps "); n != 1 {
		t.Errorf("the failure is logged %d times, want once:\n%s", n, &logs)
	}
}

// TestAnEngagedClusterDoesNotAffectReadiness checks that a replica is ready while an engaged cluster is not reachable.
func TestAnEngagedClusterDoesNotAffectReadiness(t *testing.T) {
	var cut atomic.Bool
	cut.Store(true)
	own := cache.New(connect(t, newServer(), nil), &cache.Options{Logger: discard})
	other := cache.New(connect(t, newServer(), &cut), &cache.Options{Cluster: "eu", Logger: discard})
	addr := freeAddr(t)
	m := manager.New(nil, &manager.Options{HealthAddr: addr, Logger: discard})
	ctl := controller.New(controller.For[corev1.ConfigMap](own), &controller.Options{Logger: discard})
	m.Add(ctl.With(func(context.Context, *corev1.ConfigMap) (controller.Action, error) {
		return controller.AwaitChange(), nil
	}))
	stop, result := run(t, m)
	eventually(t, addr, "/readyz", 200)
	ctx, leave := context.WithCancelCause(t.Context())
	engaged := make(chan error, 1)
	go func() { engaged <- ctl.Engage(ctx, other) }()
	for len(ctl.Health()) < 2 {
		time.Sleep(time.Millisecond) // real sockets do not work in bubbles
	}
	if h := ctl.Health(); h[0].Engaged || !h[1].Engaged || h[1].Ready {
		t.Errorf("Health() = %+v, want the engaged cluster as the last, and not ready", h)
	}
	if code, body := get(t, addr, "/readyz"); code != 200 {
		t.Errorf("/readyz while an engaged cluster is not reachable: %d %s", code, body)
	}
	stop(errStop)
	if err := <-result; err != nil {
		t.Error(err)
	}
	leave(errStop)
	if err := <-engaged; !errors.Is(err, errStop) {
		t.Errorf("Engage() = %v, want %v", err, errStop)
	}
}

// TestReplicaThatCannotReachItsLeaseIsNotReady checks that a replica without the permission for leases is not ready until
// it has reached its lease once, and is ready in a later outage.
func TestReplicaThatCannotReachItsLeaseIsNotReady(t *testing.T) {
	for name, o := range divisions {
		t.Run(name, func(t *testing.T) {
			var denied atomic.Bool
			denied.Store(true)
			leases := func(r *http.Request) bool { return denied.Load() && strings.Contains(r.URL.Path, "/leases") }
			c := connect(t, forbid(newServer(), leases), nil)
			o.Logger, o.HealthAddr = discard, freeAddr(t)
			m := manager.New(c, &o)
			stop, result := run(t, m)
			eventually(t, o.HealthAddr, "/livez", 200)
			time.Sleep(100 * time.Millisecond)
			if code, body := get(t, o.HealthAddr, "/readyz"); code != 500 || !strings.Contains(body, "[-]lease-shop failed") {
				t.Errorf("/readyz without the permission: %d %s", code, body)
			}
			denied.Store(false)
			eventually(t, o.HealthAddr, "/readyz", 200)
			denied.Store(true)
			time.Sleep(100 * time.Millisecond)
			if code, body := get(t, o.HealthAddr, "/readyz"); code != 200 {
				t.Errorf("/readyz in an outage: %d %s", code, body)
			}
			denied.Store(false)
			stop(errStop)
			if err := <-result; err != nil {
				t.Error(err)
			}
		})
	}
}
