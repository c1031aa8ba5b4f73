// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/controller"
	"github.com/kube-go/sdk/runtime/metrics"
	"github.com/kube-go/sdk/runtime/webhook"
)

// check is one check of an endpoint.
type check struct {
	name string
	run  func(context.Context) error
}

// ping is the check of livez that shows that the process responds.
func ping(context.Context) error { return nil }

// added returns checks with another one. If there is a check of the same name, a number follows the name.
func added(checks []check, name string, run func(context.Context) error) []check {
	unique := name
	for n := 2; has(checks, unique); n++ {
		unique = fmt.Sprintf("%s-%d", name, n)
	}
	return append(checks, check{unique, run})
}

// has reports whether there is a check of a name.
func has(checks []check, name string) bool {
	return slices.ContainsFunc(checks, func(c check) bool { return c.name == name })
}

// watch adds the checks and the metrics of a Runnable.
func (m *Manager) watch(r Runnable) {
	if c, ok := r.(metrics.Controller); ok {
		m.keep(m.metrics.AddController(c))
	}
	if v, ok := r.(interface{ Cache() *cache.Cache }); ok {
		m.keep(m.metrics.AddCache(v.Cache()))
	}
	if s, ok := r.(*webhook.Server); ok {
		m.keep(m.metrics.AddWebhookServer(s))
	}
	if s, ok := r.(interface {
		Health() []controller.SourceHealth
	}); ok {
		m.checks = added(m.checks, "sources-"+name(r), func(context.Context) error { return sourcesSynced(s.Health()) })
	}
	if v, ok := r.(view); ok {
		m.checks = added(m.checks, "view-"+v.Resource().String(), func(context.Context) error { return viewSynced(v) })
	}
	if s, ok := r.(interface{ Runs() []controller.RunHealth }); ok {
		m.live = added(m.live, "runs-"+name(r), func(context.Context) error {
			for _, h := range s.Runs() {
				if h.Err != nil {
					return h.Err
				}
			}
			return nil
		})
	}
}

// sourcesSynced returns an error if a source of a controller is not synced.
func sourcesSynced(all []controller.SourceHealth) error {
	for _, h := range all {
		if err := sourceSynced(h); err != nil {
			return err
		}
	}
	return nil
}

// sourceSynced returns an error if the source of a controller is not synced. A cluster that was engaged does not count,
// since it does not stop the work on the others.
func sourceSynced(h controller.SourceHealth) error {
	source := h.Resource.String()
	if h.Cluster != "" {
		source += " of the cluster " + h.Cluster
	}
	switch {
	case h.Ready, h.Engaged:
		return nil
	case h.Err != nil:
		return fmt.Errorf("the source %s is not synced: %w", source, h.Err)
	}
	return fmt.Errorf("the source %s is not synced", source)
}

// view is a [cache.View] of any type.
type view interface {
	Resource() core.Resource
	Ready(ctx context.Context) error
	Health() error
}

// viewSynced returns an error if the view is not synced.
func viewSynced(v view) error {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	switch err := v.Ready(ended); {
	case err == nil:
		return nil
	case v.Health() != nil:
		return fmt.Errorf("the view of %s is not synced: %w", v.Resource(), v.Health())
	}
	return fmt.Errorf("the view of %s is not synced", v.Resource())
}

// servers are the HTTP servers of a manager.
type servers struct {
	listeners []net.Listener
	all       []*http.Server
}

// serve listens to the addresses.
func (m *Manager) serve() (*servers, error) {
	o, s := &m.options, &servers{}
	handlers, paths := map[string]*http.ServeMux{}, map[string][]string{}
	mux := func(addr string, served ...string) *http.ServeMux {
		paths[addr] = append(paths[addr], served...)
		if handlers[addr] == nil {
			handlers[addr] = http.NewServeMux()
		}
		return handlers[addr]
	}
	if o.HealthAddr != "" {
		m.endpoint(mux(o.HealthAddr, "/livez"), "livez", m.live)
		m.endpoint(mux(o.HealthAddr, "/healthz"), "healthz", m.live)
		m.endpoint(mux(o.HealthAddr, "/readyz"), "readyz", m.checks)
	}
	if o.MetricsAddr != "" {
		mux(o.MetricsAddr, "/metrics").Handle("GET /metrics", o.MetricsHandler)
	}
	if o.DebugAddr != "" {
		mux(o.DebugAddr, "/debug/controllers").Handle("GET /debug/controllers", m.page)
		mux(o.DebugAddr).Handle("GET /debug/controllers/data", m.page)
	}
	for _, addr := range slices.Sorted(maps.Keys(handlers)) {
		l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", addr)
		if err != nil {
			s.close()
			return nil, fmt.Errorf("manager: %w", err)
		}
		s.listeners = append(s.listeners, l)
		s.all = append(s.all, &http.Server{
			Handler: handlers[addr], ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 90 * time.Second,
		})
		o.Logger.Info("serving", "addr", l.Addr().String(), "paths", strings.Join(paths[addr], " "))
	}
	return s, nil
}

// healthLog is the last error of each check, so that each is logged once.
type healthLog struct {
	mu   sync.Mutex // guards last
	last map[*check]string
}

// differs reports whether an error is not the last one of the check.
func (l *healthLog) differs(c *check, err error) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil {
		delete(l.last, c)
		return false
	}
	if l.last == nil {
		l.last = make(map[*check]string)
	}
	last := l.last[c]
	l.last[c] = err.Error()
	return last != err.Error()
}

// reached is the check that fails until the replica has reached the lease of the election or the leases of the sharding
// once. It does not fail in an outage, which would make all replicas unready.
func (m *Manager) reached(context.Context) error {
	var reached bool
	var err error
	if m.elector != nil {
		s := m.elector.Status()
		reached, err = s.Reached, s.Err
	} else {
		s := m.member.Status()
		reached, err = s.Reached, s.Err
	}
	switch names, _ := m.waiting.names(); {
	case reached:
		return nil
	case err != nil:
		return fmt.Errorf("the lease was not read or written yet: %w", err)
	case len(names) > 0:
		return fmt.Errorf("the lease was not read or written yet: the replica waits for %s", strings.Join(names, ", "))
	}
	return errors.New("the lease was not read or written yet")
}

// running is the check that fails while Run stops.
func (m *Manager) running(context.Context) error {
	if m.stopped.Load() {
		return errors.New("the manager is stopping")
	}
	return nil
}

// run serves until ctx ends.
func (s *servers) run(ctx context.Context) error {
	failed := make(chan error, len(s.all))
	for i, server := range s.all {
		go func() { failed <- server.Serve(s.listeners[i]) }() // ends with close, for which run waits
	}
	select {
	case <-ctx.Done():
	case err := <-failed:
		failed <- err
	}
	s.close()
	var err error
	for range s.all {
		if e := <-failed; !errors.Is(e, http.ErrServerClosed) {
			err = errors.Join(err, e)
		}
	}
	return err
}

// close closes the servers, after the current requests or a second.
func (s *servers) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	for i, server := range s.all {
		if server.Shutdown(ctx) != nil {
			_ = server.Close() // ends the other requests
		}
		_ = s.listeners[i].Close() // also if Serve was never called
	}
}

// endpoint adds an endpoint with checks, and one for each check.
func (m *Manager) endpoint(mux *http.ServeMux, name string, checks []check) {
	mux.HandleFunc("GET /"+name, func(w http.ResponseWriter, r *http.Request) {
		m.respond(w, r, name, checks)
	})
	mux.HandleFunc("GET /"+name+"/{check...}", func(w http.ResponseWriter, r *http.Request) {
		i := slices.IndexFunc(checks, func(c check) bool { return c.name == r.PathValue("check") })
		if i < 0 {
			http.NotFound(w, r)
			return
		}
		m.respond(w, r, name, checks[i:i+1])
	})
}

// respond runs the checks, and responds like Kubernetes' components, see
// https://kubernetes.io/docs/reference/using-api/health-checks/.
func (m *Manager) respond(w http.ResponseWriter, r *http.Request, name string, checks []check) {
	query := r.URL.Query()
	var lines strings.Builder
	failed := false
	for i := range checks {
		c := &checks[i]
		if slices.Contains(query["exclude"], c.name) {
			fmt.Fprintf(&lines, "[+]%s excluded: ok\n", c.name)
			continue
		}
		err := c.run(r.Context())
		if m.log.differs(c, err) {
			m.options.Logger.Warn("health check failed", "endpoint", name, "check", c.name, "err", err)
		}
		if err != nil {
			failed = true
			fmt.Fprintf(&lines, "[-]%s failed: reason withheld\n", c.name)
			continue
		}
		fmt.Fprintf(&lines, "[+]%s ok\n", c.name)
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	switch {
	case failed:
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprintf(w, "%s%s check failed\n", lines.String(), name)
	case query.Has("verbose"):
		fmt.Fprintf(w, "%s%s check passed\n", lines.String(), name)
	default:
		fmt.Fprint(w, "ok")
	}
}
