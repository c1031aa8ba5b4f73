// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/core/machine"
	"github.com/kube-go/sdk/runtime/controller"
	"github.com/kube-go/sdk/wasm/host"
	"github.com/kube-go/sdk/wasm/registry/registrytest"
	"github.com/kube-go/sdk/wasm/v1alpha1"
)

// newClient returns a client of a server that does not exist.
func newClient(t *testing.T) *client.Client {
	t.Helper()
	c, err := client.New(t.Context(), &client.Options{Config: &config.Config{Server: "https://cluster.invalid"}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestRemovedModuleEndsDuringACompilation has an object that is deleted while the host compiles its next version.
func TestRemovedModuleEndsDuringACompilation(t *testing.T) {
	c, logger := newClient(t), slog.New(slog.DiscardHandler)
	h, err := host.New(t.Context(), c, &host.Options{Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var ran sync.WaitGroup
	defer ran.Wait()
	defer stop()
	ran.Go(func() { _ = h.Run(ctx) }) // it returns the end of its context
	m, err := New(c, h, &Options{Name: "example.com/test", Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	m.jobs.begin(ctx)
	obj := v1alpha1.NewWasmController("n", "a", v1alpha1.WasmControllerSpec{Image: "a"})
	if err := h.Set(ctx, moduleOf(obj, registrytest.Guest{}.Module())); err != nil {
		t.Fatal(err)
	}
	m.all["n/a"] = &record{config: configOf(obj)}
	begun, compiled := make(chan struct{}), make(chan struct{})
	m.jobs.do("n/a", "set", time.Minute, func(context.Context) (string, error) { // nothing interrupts it
		close(begun)
		<-compiled
		if err := h.Set(ctx, moduleOf(obj, registrytest.Guest{Log: "next"}.Module())); err != nil {
			t.Error(err)
		}
		return "", nil
	})
	<-begun
	m.remove("n/a")
	for deadline := time.Now().Add(time.Minute); ; <-time.After(time.Millisecond) {
		if _, found := h.StatusOf("n/a"); !found {
			break
		}
		if time.Now().After(deadline) {
			t.Error("the previous version runs during the compilation")
			break
		}
	}
	close(compiled)
	m.jobs.running.Wait()
	if _, found := h.StatusOf("n/a"); found || m.owns("n/a") {
		t.Error("the host has the version that was compiled meanwhile")
	}
}

func TestDirectoryOfFilesIsOpenOnlyDuringRun(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "files")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	o := &Options{Name: "example.com/test", Files: dir, Logger: slog.New(slog.DiscardHandler)}
	m, err := New(newClient(t), nil, o)
	if err != nil {
		t.Fatal(err)
	}
	if m.root != nil {
		t.Error("New opens the directory")
	}
	cause := errors.New("on purpose")
	reads := func(context.Context) error {
		if _, err := m.stat("a"); err != nil {
			t.Error(err)
		}
		return cause
	}
	for range 2 {
		if err := m.Run(t.Context(), reads); err != cause {
			t.Errorf("Run = %v, want %v", err, cause)
		}
		if _, err := m.stat("a"); !errors.Is(err, os.ErrClosed) {
			t.Errorf("after Run, the directory is not closed: %v", err)
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	err = m.Run(t.Context(), reads)
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "Options.Files: ") {
		t.Errorf("Run without the directory = %v", err)
	}
}

// TestModuleOfADeletedObjectIsRemovedAfterItsJob has a job that adds the module although its context has ended, as the
// host may do.
func TestModuleOfADeletedObjectIsRemovedAfterItsJob(t *testing.T) {
	c := newClient(t)
	h, err := host.New(t.Context(), c, &host.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	m, err := New(c, h, &Options{Name: "x", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	m.jobs.begin(t.Context())
	const name = "n/a"
	m.jobs.do(name, "set", time.Minute, func(ctx context.Context) (string, error) {
		<-ctx.Done()
		m.mu.Lock()
		defer m.mu.Unlock()
		m.all[name] = &record{}
		return "", nil
	})
	m.Gone(t.Context(), controller.Key{Ref: refOf(name)})
	m.jobs.running.Wait()
	if m.owns(name) || len(m.jobs.all) > 0 {
		t.Errorf("the module runs although its object was deleted; %d jobs are left", len(m.jobs.all))
	}
}

// TestModuleEndsWhenAnotherObjectHasItsName has an object that was deleted without its finalizer, and another one with
// its name that can't run. The previous version of an object that can't run continues.
func TestModuleEndsWhenAnotherObjectHasItsName(t *testing.T) {
	c, logger := newClient(t), slog.New(slog.DiscardHandler)
	h, err := host.New(t.Context(), c, &host.Options{Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	m, err := New(c, h, &Options{Name: "example.com/test", Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	m.jobs.begin(t.Context())
	obj := v1alpha1.NewWasmController("n", "a", v1alpha1.WasmControllerSpec{})
	obj.UID, obj.Finalizers = "1", []string{"example.com/test"}
	obj.Status.FSM = &machine.Position{State: "Pulling", Since: metav1.NowMicro(), Visits: map[string]int32{"Pulling": 1}}
	if err := h.Set(t.Context(), moduleOf(obj, registrytest.Guest{}.Module())); err != nil {
		t.Fatal(err)
	}
	m.all["n/a"] = &record{uid: "1", config: "before"}
	for _, uid := range []types.UID{"1", "2"} {
		obj.UID = uid
		_, _ = m.Reconcile(t.Context(), obj) // its status is not stored without a server
		m.jobs.running.Wait()
		if _, found := h.StatusOf("n/a"); found != (uid == "1") || m.owns("n/a") != found {
			t.Errorf("after a pass of the object %s, the host has the module of the object 1: %v", uid, found)
		}
	}
}

// TestUnloadedModuleRuns has objects whose modules are unloaded when a pass finds them in another state, such as after
// a change of the spec that does not change the module.
func TestUnloadedModuleRuns(t *testing.T) {
	c := newClient(t)
	logger := slog.New(slog.DiscardHandler)
	h, err := host.New(t.Context(), c, &host.Options{Logger: logger, IdleAfter: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = h.Run(ctx) // it returns the end of its context
	}()
	defer func() {
		stop()
		<-ended
	}()
	m, err := New(c, h, &Options{Name: "example.com/test", Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	obj := v1alpha1.NewWasmController("n", "a", v1alpha1.WasmControllerSpec{Image: "a"})
	if err := h.Set(t.Context(), moduleOf(obj, registrytest.Guest{}.Module())); err != nil {
		t.Fatal(err)
	}
	m.all[nameOf(obj)] = &record{config: configOf(obj)}
	for begun := time.Now(); ; <-time.After(time.Millisecond) {
		if s, _ := h.StatusOf(nameOf(obj)); s.Phase == host.Unloaded {
			break
		} else if time.Since(begun) > 30*time.Second {
			t.Fatalf("the module is %s: %v", s.Phase, s.Err)
		}
	}
	for _, state := range []string{"Starting", "BackOff"} {
		obj.Status.FSM = &machine.Position{State: state, Since: metav1.NowMicro(), Visits: map[string]int32{state: 1}}
		p, err := m.machine.Plan(t.Context(), obj)
		if err != nil || p.Err != nil {
			t.Fatal(err, p)
		}
		if want := []string{state, "Running"}; !slices.Equal(p.States, want) {
			t.Errorf("the states of the pass are %q, want %q", p.States, want)
		}
	}
}

// TestStoredStateDoesNotAllowWhatTheHostForbids has objects whose states were stored by a program with other flags.
func TestStoredStateDoesNotAllowWhatTheHostForbids(t *testing.T) {
	c := newClient(t)
	logger := slog.New(slog.DiscardHandler)
	h, err := host.New(t.Context(), c, &host.Options{Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.wasm"), registrytest.Guest{}.Module(), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		files, want string
		spec        v1alpha1.WasmControllerSpec
	}{
		"image without a store":    {want: "-cache", spec: v1alpha1.WasmControllerSpec{Image: "a"}},
		"file without a directory": {want: "-files", spec: v1alpha1.WasmControllerSpec{File: "a.wasm"}},
		"origin that is not allowed": {
			files: dir, want: "-allow-origin http://169.254.169.254",
			spec: v1alpha1.WasmControllerSpec{File: "a.wasm", Origins: []string{"http://169.254.169.254"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := New(c, h, &Options{Name: "example.com/test", Files: tt.files, Logger: logger})
			if err != nil {
				t.Fatal(err)
			}
			if err := m.open(); err != nil {
				t.Fatal(err)
			}
			defer m.close()
			for _, state := range []string{"Pulling", "Compiling", "Starting", "Running", "BackOff", "Quarantined"} {
				obj := v1alpha1.NewWasmController("n", "a", tt.spec)
				obj.Status.FSM = &machine.Position{State: state, Since: metav1.NowMicro(), Visits: map[string]int32{state: 1}}
				p, err := m.machine.Plan(t.Context(), obj)
				if err != nil || p.Err != nil {
					t.Fatal(err, p)
				}
				if last := p.States[len(p.States)-1]; last != "Pulling" || !strings.Contains(p.Reason, tt.want) {
					t.Errorf("a pass in %s ends in %s: %s; want Pulling and %q", state, last, p.Reason, tt.want)
				}
			}
			obj := v1alpha1.NewWasmController("n", "a", tt.spec)
			if _, _, err := m.load(t.Context(), obj); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("load = %v, want an error with %q", err, tt.want)
			}
		})
	}
}

// looping returns a module that does not return from its start.
func looping() []byte {
	logs := []byte{0x41, 0, 0x41, 0x80, 0x08, 0x41, 5, 0x10, 0}        // log(0, 1024, 5)
	loops := []byte{0x03, 0x40, 0x0c, 0, 0x0b, 0x01, 0x01, 0x01, 0x01} // loop, br 0, end, nop…
	return bytes.Replace(registrytest.Guest{Log: "hello"}.Module(), logs, loops, 1)
}

// TestModulesAreRemovedAtOnceWhenRunEnds has a job that does not end, and modules that end two seconds after they are
// removed.
func TestModulesAreRemovedAtOnceWhenRunEnds(t *testing.T) {
	c := newClient(t)
	logger := slog.New(slog.DiscardHandler)
	h, err := host.New(t.Context(), c, &host.Options{Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = h.Run(ctx) }) // it returns the end of its context
	defer running.Wait()
	defer stop()
	m, err := New(c, h, &Options{Name: "example.com/test", Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	const modules = 15 // which end in at least half a minute, if one ends after the other
	binary, compiling, release := looping(), make(chan struct{}), make(chan struct{})
	cause := errors.New("on purpose")
	ended := false // guarded by m.mu
	running.Go(func() {
		err := m.Run(ctx, func(ctx context.Context) error {
			for n := range modules {
				obj := v1alpha1.NewWasmController("n", fmt.Sprint(n), v1alpha1.WasmControllerSpec{})
				if err := h.Set(ctx, moduleOf(obj, binary)); err != nil {
					t.Error(err)
				}
				m.mu.Lock()
				m.all[nameOf(obj)] = &record{}
				m.mu.Unlock()
				for s := (host.Status{}); s.Stats.Calls == 0; <-time.After(time.Millisecond) {
					s, _ = h.StatusOf(nameOf(obj))
				}
			}
			m.jobs.do("n/compiling", "set", time.Minute, func(context.Context) (string, error) {
				close(compiling)
				<-release
				m.mu.Lock()
				defer m.mu.Unlock()
				m.all["n/compiling"] = &record{}
				return "", nil
			})
			<-compiling
			m.mu.Lock()
			defer m.mu.Unlock()
			ended = true
			return cause
		})
		if err != cause || len(m.all) > 0 {
			t.Errorf("Run = %v, with the modules %v, want %v and none", err, m.all, cause)
		}
	})
	removed := func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		return ended && len(m.all) == 0
	}
	<-compiling
	for begun := time.Now(); !removed(); <-time.After(time.Millisecond) {
		if time.Since(begun) > 25*time.Second {
			t.Errorf("after %v, the host has %d modules, want none after about 2s", time.Since(begun), len(h.Status()))
			break
		}
	}
	close(release)
}
