// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/wasm/host"
)

// compiled is a directory with compiled modules, so that each is compiled once, and without the race detector, which
// makes the compiler many times slower.
var compiled string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "compiled")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	compiled = dir
	m.Run()
}

// build returns the test guest.
var build = sync.OnceValues(func() ([]byte, error) { return buildGuest(".", "./testdata/guest") })

// buildGuest builds a program as a guest.
func buildGuest(dir, program string) ([]byte, error) {
	file := filepath.Join(compiled, filepath.Base(program)+".wasm")
	cmd := exec.CommandContext(context.Background(), "go", "build", "-trimpath", "-buildmode=c-shared",
		"-tags=nethttpomithttp2", "-ldflags=-s -w", "-o", file, program)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	return os.ReadFile(file)
}

// records is a log whose records can be waited for.
type records struct {
	mu   sync.Mutex // guards the fields below
	text bytes.Buffer
	more chan struct{}
}

func (r *records) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.more)
	r.more = make(chan struct{})
	return r.text.Write(p)
}

// await waits until the log contains all texts.
func (r *records) await(t *testing.T, texts ...string) {
	t.Helper()
	deadline := time.After(time.Minute)
	for {
		r.mu.Lock()
		text, more := r.text.String(), r.more
		r.mu.Unlock()
		missing := ""
		for _, want := range texts {
			if !strings.Contains(text, want) {
				missing = want
			}
		}
		if missing == "" {
			return
		}
		select {
		case <-more:
		case <-deadline:
			t.Fatalf("the log does not contain %q:\n%s", missing, text)
		}
	}
}

// run runs a host until the test ends.
func run(t *testing.T, handler http.HandlerFunc, o host.Options) (*host.Host, *records) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	c, err := client.New(t.Context(), &client.Options{Config: &config.Config{Server: server.URL}})
	if err != nil {
		t.Fatal(err)
	}
	log := &records{more: make(chan struct{})}
	o.CompilationDir = compiled
	o.Logger = slog.New(slog.NewTextHandler(log, nil))
	h, err := host.New(t.Context(), c, &o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- h.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != context.Canceled {
			t.Errorf("Run = %v", err)
		}
	})
	return h, log
}

// set adds the test guest with arguments.
func set(t *testing.T, h *host.Host, name string, args ...string) {
	t.Helper()
	wasm, err := build()
	if err != nil {
		t.Fatal(err)
	}
	setModule(t, h, host.Module{Name: name, Binary: wasm, Args: args})
}

// setModule adds a module with little memory.
func setModule(t *testing.T, h *host.Host, m host.Module) {
	t.Helper()
	m.Limits.MemoryBytes = 64 << 20
	if err := h.Set(t.Context(), m); err != nil {
		t.Fatal(err)
	}
}

func TestMissingArgumentsAreErrorsThatSayWhatToSet(t *testing.T) {
	if _, err := host.New(t.Context(), nil, nil); err == nil || !strings.Contains(err.Error(), "pass the client") {
		t.Errorf("New without a client = %v", err)
	}
	h, _ := run(t, nil, host.Options{})
	if err := h.Set(t.Context(), host.Module{}); err == nil || !strings.Contains(err.Error(), "Module.Name is empty: set ") {
		t.Errorf("Set without a name = %v", err)
	}
}

func TestGuestSendsRequestsThroughTheHost(t *testing.T) {
	h, log := run(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, strings.Repeat("x", 200000))
	}, host.Options{})
	set(t, h, "a", "get", "/api/v1/pods?limit=1")
	log.await(t, `\"status\":200`, "with 200000 bytes")
}

func TestTimersOfAGuestRun(t *testing.T) {
	h, log := run(t, nil, host.Options{})
	set(t, h, "a", "ticker")
	log.await(t, "tick 0", "tick 4", "slept")
}

func TestGuestWatches(t *testing.T) {
	h, log := run(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v1/configmaps" {
			http.NotFound(w, r)
			return
		}
		flush := w.(http.Flusher)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintln(w, `{"type":"ADDED","object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m","namespace":"n","uid":"1","resourceVersion":"5"}}}`)
		fmt.Fprintln(w, `{"type":"BOOKMARK","object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"resourceVersion":"6","annotations":{"k8s.io/initial-events-end":"true"}}}}`)
		flush.Flush()
		<-r.Context().Done()
	}, host.Options{})
	set(t, h, "a", "watch")
	log.await(t, "set n/m, true bytes", "get true", "synced")
}

func TestFailingGuestIsQuarantinedAndOthersRun(t *testing.T) {
	h, log := run(t, nil, host.Options{InitialBackoff: time.Millisecond, MaxFailures: 2})
	wasm, err := build()
	if err != nil {
		t.Fatal(err)
	}
	loop := host.Limits{CallTimeout: time.Second} // the others must not exceed it on a busy machine
	setModule(t, h, host.Module{Name: "loop", Binary: wasm, Args: []string{"loop"}, Limits: loop})
	set(t, h, "panic", "panic")
	set(t, h, "bomb", "bomb")
	set(t, h, "good", "ticker")
	log.await(t, "slept")
	for _, kind := range []string{"loop", "panic", "bomb"} {
		await(t, h, kind, func(s host.Status) bool { return s.Phase == host.Quarantined })
	}
}

func TestIdleGuestIsUnloadedAndContinues(t *testing.T) {
	h, log := run(t, nil, host.Options{IdleAfter: time.Millisecond})
	for _, name := range []string{"a", "b"} {
		set(t, h, name, "idle")
	}
	await(t, h, "a", func(s host.Status) bool { return s.Stats.Unloads > 0 })
	log.await(t, "\"idle [begun 0 1 2]\" module=a", "\"idle [begun 0 1 2]\" module=b")
}

// tape is a recording in memory.
type tape struct {
	mu sync.Mutex // guards the buffer
	bytes.Buffer
}

func (r *tape) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.Buffer.Write(p)
}

func TestRecordingReplaysByteForByte(t *testing.T) {
	wasm, err := build()
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"get", "/a"}, {"ticker"}, {"panic"}} {
		t.Run(args[0], func(t *testing.T) {
			var recording tape
			h, log := run(t, func(w http.ResponseWriter, r *http.Request) {
				fmt.Fprint(w, strings.Repeat("x", 200000))
			}, host.Options{MaxFailures: 1})
			setModule(t, h, host.Module{
				Name: "a", Binary: wasm, Args: args, Record: func() (io.Writer, error) { return &recording, nil },
			})
			log.await(t, map[string]string{"get": "200000 bytes", "ticker": "slept", "panic": "quarantined"}[args[0]])
			h.Remove(t.Context(), "a")
			o := &host.RecordingOptions{CompilationDir: compiled}
			calls, err := host.Replay(t.Context(), wasm, bytes.NewReader(recording.Bytes()), o)
			if err != nil || calls < 2 {
				t.Errorf("Replay = %d, %v, want some calls", calls, err)
			}
			other := bytes.Replace(recording.Bytes(), []byte("INFO "), []byte("WARN "), 1)
			if _, err := host.Replay(t.Context(), wasm, bytes.NewReader(other), o); args[0] != "panic" &&
				(err == nil || !strings.Contains(err.Error(), "differs")) {
				t.Errorf("Replay of a changed recording = %v, want that it differs", err)
			}
		})
	}
}
