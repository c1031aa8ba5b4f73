// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/abi"
	"github.com/kube-go/sdk/wasm/internal/image"
)

// smallReconciler is a reconciler of pods whose functions do nothing, as package conformance encodes it.
const smallReconciler = "AGFzbQEAAAABJwhgAABgAABgAAF+YAF/AX9gAn9/AX9gBH5/f38Bf2AAAGACf38BfgIBAAMIBwECAwQFBgcFAwEAAgdGBQZtZW1v" +
	"cnkCAAtfaW5pdGlhbGl6ZQAADWt1YmVfZGVzY3JpYmUAAQprdWJlX2FsbG9jAAIOa3ViZV9yZWNvbmNpbGUABgooBwIACwoAQo2B" +
	"gICAgAELBgBB4NQDCwQAQQALBABBAAsCAAsEAEIACwuVAQEAQYAIC40BeyJhYmkiOiJrdWJlX3YxIiwicHJvZmlsZSI6InJlY29u" +
	"Y2lsZXIiLCJjb250cm9sbGVycyI6W3sibmFtZSI6ImEiLCJmb3IiOnsidmVyc2lvbiI6InYxIiwia2luZCI6IlBvZCIsInJlc291" +
	"cmNlIjoicG9kcyIsIm5hbWVzcGFjZWQiOnRydWV9fV19"

func TestImageIsReleasedWithTheLastModuleWithItsArguments(t *testing.T) {
	server := httptest.NewServer(nil)
	defer server.Close()
	c, err := client.New(t.Context(), &client.Options{Config: &config.Config{Server: server.URL}})
	if err != nil {
		t.Fatal(err)
	}
	h, err := New(t.Context(), c, &Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- h.Run(ctx) }()
	defer func() {
		stop()
		if err := <-ended; err != context.Canceled {
			t.Errorf("Run = %v", err)
		}
	}()
	binary, err := base64.StdEncoding.DecodeString(smallReconciler)
	if err != nil {
		t.Fatal(err)
	}
	set := func(name, arg string) {
		t.Helper()
		if err := h.Set(t.Context(), Module{Name: name, Binary: binary, Args: []string{arg}}); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(time.Minute); ; <-time.After(time.Millisecond) {
			for _, s := range h.Status() {
				if s.Name == name && s.Phase == Running {
					return
				}
			}
			if time.Now().After(deadline) {
				t.Fatalf("status: %+v", h.Status())
			}
		}
	}
	images := func() map[string]*imageEntry {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.programs[digestOf(binary)].images
	}
	set("other", "x")
	for n := range 20 { // each has an image of its own
		set("a", fmt.Sprint(n))
	}
	if n := len(images()); n != 2 {
		t.Errorf("the program has %d images, want those of the 2 modules", n)
	}
	h.Remove(t.Context(), "a")
	if n := len(images()); n != 1 {
		t.Errorf("the program has %d images, want that of the module that is left", n)
	}
	set("a", "0")
}

func TestImageIsSharedUntilItsLastUser(t *testing.T) {
	p, a, b := &program{images: make(map[string]*imageEntry)}, &guest{}, &guest{}
	p.images["both"] = &imageEntry{img: new(image.Image), users: map[*guest]bool{a: true, b: true}}
	p.images["one"] = &imageEntry{users: map[*guest]bool{b: true}}
	p.release(b)
	if p.images["both"] == nil || p.images["one"] != nil {
		t.Errorf("the images are %v, want the one of the other guest", p.images)
	}
}

func TestRecordingsOfAModuleAreLimitedTogether(t *testing.T) {
	var all []*bytes.Buffer
	g := &guest{logger: slog.New(slog.DiscardHandler), ctx: t.Context()}
	g.module.Record = func() (io.Writer, error) {
		all = append(all, new(bytes.Buffer))
		return all[len(all)-1], nil
	}
	const room = 1 << 20
	g.tapes.Store(room)
	written := func() (n int) {
		for _, b := range all {
			n += b.Len()
		}
		return n
	}
	var tapes []*tape
	for range 100 { // starts
		tp, err := g.newTape()
		if err != nil {
			t.Fatal(err)
		}
		tapes = append(tapes, tp)
		tp.output(frameLog, make([]byte, 10_000))
		tp.flush()
	}
	for _, tp := range tapes { // all of them are open
		tp.output(frameLog, make([]byte, abi.MaxMessage))
		_ = tp.close()
	}
	t.Logf("100 starts have %d recordings with %d bytes", len(all), written())
	if n := len(all); n == 0 || n > room/tapeCost {
		t.Errorf("100 starts have %d recordings, want at most %d", n, room/tapeCost)
	}
	if n := written(); n == 0 || n > room {
		t.Errorf("the recordings have %d bytes, want at most %d", n, room)
	}
}

// compiling waits until a host compiles a module.
func compiling(t *testing.T, h *Host) {
	t.Helper()
	await(t, "the compilation", func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return len(h.programs) > 0
	})
}

func TestRunWaitsForCompilations(t *testing.T) {
	h, _ := newTestHost(t, "http://127.0.0.1:1", Options{})
	ctx, stop := context.WithCancel(t.Context())
	ran, set := make(chan error, 1), make(chan error, 1)
	go func() { ran <- h.Run(ctx) }()
	m := Module{Name: "a", Binary: testGuest{describes: describing(), initialize: slow()}.encode()}
	go func() { set <- h.Set(t.Context(), m) }()
	compiling(t, h)
	stop()
	if err := <-ran; !errors.Is(err, context.Canceled) {
		t.Errorf("Run = %v, want the cause of its end", err)
	}
	if err := <-set; err != nil && !errors.Is(err, errEnded) {
		t.Errorf("Set = %v while the host ends, want nil or %v", err, errEnded)
	}
	if err := h.Set(t.Context(), m); !errors.Is(err, errEnded) {
		t.Errorf("Set = %v after the end of the host, want %v", err, errEnded)
	}
}

func TestSetReturnsTheEndOfItsContextAfterACompilation(t *testing.T) {
	h, _ := newTestHost(t, "http://127.0.0.1:1", Options{})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	set := make(chan error, 1)
	go func() {
		set <- h.Set(ctx, Module{Name: "a", Binary: testGuest{describes: describing(), initialize: slow()}.encode()})
	}()
	compiling(t, h)
	stop()
	if err := <-set; !errors.Is(err, context.Canceled) {
		t.Errorf("Set = %v, want the cause of the end of its context", err)
	}
	if len(h.Status()) > 0 || len(h.programs) > 0 {
		t.Errorf("the host has %d modules and %d programs, want none", len(h.Status()), len(h.programs))
	}
}

// TestFailedSetReleasesTheContextOfItsModule counts the contexts that depend on that of the host.
func TestFailedSetReleasesTheContextOfItsModule(t *testing.T) {
	h, _ := newTestHost(t, "http://127.0.0.1:1", Options{})
	parent := &countingContext{Context: context.Background(), done: make(chan struct{})}
	h.ctx = parent
	for _, m := range []Module{
		{Name: "a", Binary: []byte("no module")},
		{Name: "a", ServiceAccount: core.ObjectRef{Name: "b"}},
	} {
		if err := h.Set(t.Context(), m); err == nil {
			t.Fatalf("Set of %+v has succeeded", m)
		}
	}
	if n := parent.dependent.Load(); n != 0 {
		t.Errorf("%d contexts of modules remain", n)
	}
}

// countingContext counts the contexts that depend on it.
type countingContext struct {
	context.Context //nolint:containedctx // it is one

	done      chan struct{}
	dependent atomic.Int64
}

func (c *countingContext) Done() <-chan struct{} { return c.done }

// AfterFunc is called by package context for each dependent context.
func (c *countingContext) AfterFunc(func()) func() bool {
	c.dependent.Add(1)
	return func() bool {
		c.dependent.Add(-1)
		return true
	}
}

func TestStatusOfAModuleIsThatOfStatus(t *testing.T) {
	h, _ := newTestHost(t, "http://127.0.0.1:1", Options{})
	for _, name := range []string{"a", "b"} {
		setGuest(t, h, Module{Name: name, Binary: testGuest{describes: describing()}.encode()})
	}
	for _, want := range h.Status() {
		if got, found := h.StatusOf(want.Name); !found || got != want {
			t.Errorf("StatusOf(%q) = %+v, %v, want %+v", want.Name, got, found, want)
		}
	}
	h.Remove(t.Context(), "a")
	if got, found := h.StatusOf("a"); found {
		t.Errorf("the status of a module that was removed is %+v", got)
	}
}

// TestSetCopiesTheModule has a caller that changes a module and sets it again.
func TestSetCopiesTheModule(t *testing.T) {
	binary, err := base64.StdEncoding.DecodeString(smallReconciler)
	if err != nil {
		t.Fatal(err)
	}
	m := Module{
		Name: "a", Binary: binary,
		Args: []string{"x"}, Env: map[string]string{"a": "x"}, Origins: []string{"https://a.test"},
	}
	h, _ := newTestHost(t, "http://127.0.0.1:1", Options{})
	setGuest(t, h, m)
	for name, change := range map[string]func(){
		"Args":    func() { m.Args[0] = "y" },
		"Env":     func() { m.Env["a"] = "y" },
		"Origins": func() { m.Origins[0] = "https://b.test" },
	} {
		before := h.guests["a"]
		change()
		if setGuest(t, h, m); h.guests["a"] == before {
			t.Errorf("Set has not replaced the module, although its %s differ", name)
		}
	}
}

// TestRunClosesItsConnections has connections that are idle when the host ends.
func TestRunClosesItsConnections(t *testing.T) {
	var open atomic.Int64
	server := httptest.NewUnstartedServer(nil)
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			open.Add(1)
		case http.StateClosed:
			open.Add(-1)
		case http.StateActive, http.StateIdle, http.StateHijacked:
		}
	}
	server.Start()
	defer server.Close()
	h, _ := newTestHost(t, server.URL, Options{})
	own, err := h.identified()
	if err != nil {
		t.Fatal(err)
	}
	for sender, url := range map[http.RoundTripper]string{h.anonymous: "/", own: "/", h.egress: server.URL} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := sender.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.Copy(io.Discard, resp.Body)
		if err := errors.Join(err, resp.Body.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if n := open.Load(); n != 3 {
		t.Errorf("%d connections are open, want 3", n)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := h.Run(ctx); err != context.Canceled {
		t.Errorf("Run = %v", err)
	}
	await(t, "the end of the connections", func() bool { return open.Load() == 0 })
}

// TestRunWaitsForOperations has a request that has not ended when the host ends.
func TestRunWaitsForOperations(t *testing.T) {
	i := newTestInstance(t, Limits{})
	i.guest.closed = true // no turns
	i.open, i.guest.description.Profile, i.guest.client = true, abi.ProfileActor, i.guest.host.anonymous
	head := marshal(abi.Request{Method: "GET", URL: "/"})
	i.guest.mu.Lock() // the request can't end
	_, err := i.submit(abi.OpRequest, abi.AppendFrame(nil, head), 0)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		ctx, stop := context.WithCancel(context.Background())
		stop()
		_ = i.guest.host.Run(ctx) // it returns the end of its context
	}()
	select {
	case <-ended:
		t.Error("Run has returned before the request has ended")
	case <-time.After(200 * time.Millisecond):
	}
	i.guest.mu.Unlock()
	if <-ended; err != nil {
		t.Error(err)
	}
}

// TestModuleRunsThatCannotBeStored has a compilation directory that can't be written.
func TestModuleRunsThatCannotBeStored(t *testing.T) {
	dir := t.TempDir()
	h, log := runTestHost(t, newPodServer(t, 1, "").URL, Options{CompilationDir: dir})
	all, err := os.ReadDir(dir)
	if err != nil || len(all) == 0 {
		t.Fatalf("the compilation directory has %v, %v", all, err)
	}
	for _, e := range all { // the one of the version of wazero
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	m := Module{Name: "a", Binary: testGuest{describes: describing(podController("")), response: `{}`}.encode()}
	for range 2 {
		setGuest(t, h, m)
		await(t, "a call", func() bool { return statusOf(h, "a").Stats.Calls > 1 })
		h.Remove(t.Context(), "a") // releases the code
	}
	if n := strings.Count(log.String(), "dir="+dir); n != 2 {
		t.Errorf("the log has %d warnings that name the directory, want one for each compilation:\n%s", n, log)
	}
}

// TestModuleRunsWhoseStoredCodeCannotBeRead has a damaged file, and a directory that can't be opened.
func TestModuleRunsWhoseStoredCodeCannotBeRead(t *testing.T) {
	for name, damage := range map[string]func(t *testing.T, dir, file string){
		"a damaged file": func(t *testing.T, _, file string) {
			t.Helper()
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, data[:len(data)/2], 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"a file in place of the directory": func(t *testing.T, dir, _ string) {
			t.Helper()
			if err := errors.Join(os.RemoveAll(dir), os.WriteFile(dir, nil, 0o600)); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			server, dir := newPodServer(t, 1, "").URL, t.TempDir()
			m := Module{Name: "a", Binary: testGuest{describes: describing(podController("")), response: `{}`}.encode()}
			before, _ := newTestHost(t, server, Options{CompilationDir: dir})
			setGuest(t, before, m)
			files, err := filepath.Glob(filepath.Join(dir, "*", "*"))
			if err != nil || len(files) != 1 {
				t.Fatalf("the compilation directory has %v, %v", files, err)
			}
			h, log := runTestHost(t, server, Options{CompilationDir: dir})
			damage(t, filepath.Dir(files[0]), files[0])
			for range 2 {
				setGuest(t, h, m)
				await(t, "a call", func() bool { return statusOf(h, "a").Stats.Calls > 1 })
				h.Remove(t.Context(), "a") // releases the code
			}
			if n := strings.Count(log.String(), "dir="+dir); n != 2 {
				t.Errorf("the log has %d warnings that name the directory, want one for each compilation:\n%s", n, log)
			}
		})
	}
}

// TestClientOfTheHostIsMadeAgainAfterAnError has a file that does not exist for a moment, as while it is replaced.
func TestClientOfTheHostIsMadeAgainAfterAnError(t *testing.T) {
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	file := filepath.Join(t.TempDir(), "ca.pem")
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(file, ca, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(t.Context(), &client.Options{Config: &config.Config{Server: server.URL, CAFile: file}})
	if err != nil {
		t.Fatal(err)
	}
	h, err := New(t.Context(), c, &Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	m := Module{Name: "a", Binary: testGuest{describes: describing()}.encode()}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := h.Set(t.Context(), m); !errors.Is(err, os.ErrNotExist) || !IsHostError(err) {
		t.Fatalf("without the file, Set = %v, which is an error of the host: %v", err, IsHostError(err))
	}
	if err := os.WriteFile(file, ca, 0o600); err != nil {
		t.Fatal(err)
	}
	setGuest(t, h, m)
}

// TestRemoveEndsAModuleThatIsBeingReplaced has a call of Set that compiles the next version.
func TestRemoveEndsAModuleThatIsBeingReplaced(t *testing.T) {
	h, _ := runTestHost(t, newPodServer(t, 1, "").URL, Options{})
	setGuest(t, h, Module{
		Name: "a", Binary: testGuest{describes: describing(podController("")), response: `{}`}.encode(),
	})
	await(t, "a call", func() bool { return statusOf(h, "a").Stats.Calls > 0 })
	h.mu.Lock()
	g := h.guests["a"]
	h.mu.Unlock()
	unlock, err := h.lock(t.Context(), "a") // as Set does
	if err != nil {
		t.Fatal(err)
	}
	removed := make(chan struct{})
	go func() {
		defer close(removed)
		h.Remove(t.Context(), "a")
	}()
	select {
	case <-g.ended:
	case <-time.After(30 * time.Second):
		t.Error("the module runs during the call of Set")
	}
	unlock()
	if <-removed; len(h.Status()) > 0 {
		t.Errorf("after Remove, the host has the modules %+v", h.Status())
	}
}
