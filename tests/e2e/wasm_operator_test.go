// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/wasm/host"
	"github.com/kube-go/sdk/wasm/operator"
	"github.com/kube-go/sdk/wasm/registry"
	"github.com/kube-go/sdk/wasm/registry/registrytest"
	"github.com/kube-go/sdk/wasm/v1alpha1"
)

// wasmGuest is the test guest of package host, for buildInGo. Its first argument is what it does.
const wasmGuest = "./testdata/guest"

// wasmVersion returns a small module that waits. Each version has another digest.
func wasmVersion(version byte) []byte {
	return registrytest.Guest{Log: "version " + string(version)}.Module()
}

// wasmHost is a program that runs WasmController objects.
type wasmHost struct {
	host *host.Host
	log  *guarded[string]
	stop func() error
}

// Write records the log.
func (h *wasmHost) Write(p []byte) (int, error) {
	h.log.mu.Lock()
	defer h.log.mu.Unlock()
	h.log.value += string(p)
	return len(p), nil
}

// runWasmHost runs the objects of a namespace until the test ends, or until stop.
func runWasmHost(t *testing.T, c *kube.Client, ns string, o operator.Options) *wasmHost {
	t.Helper()
	w := &wasmHost{log: &guarded[string]{}}
	logger := slog.New(slog.NewMultiHandler(debugLogger(t).Handler(), slog.NewTextHandler(w, nil)))
	h, err := host.New(t.Context(), c, &host.Options{
		Logger: logger, InitialBackoff: 50 * time.Millisecond, MaxFailures: 3, CompilationDir: compiledGuests.path(t),
	})
	if err != nil {
		t.Fatal(err)
	}
	o.Namespace, o.Logger = ns, logger
	op, err := operator.New(c, h, &o)
	if err != nil {
		t.Fatal(err)
	}
	w.host = h
	w.stop = background(t, func(ctx context.Context) error {
		m := kube.NewManager(c, &kube.ManagerOptions{Logger: logger})
		m.AddToAll(h)
		m.Add(op)
		return m.Run(ctx)
	})
	return w
}

// wasmCondition is a condition of [kube.Await].
type wasmCondition = func(*v1alpha1.WasmController) error

// wasmIs is a condition: the machine has observed the generation and is in a state.
func wasmIs(generation int64, state string, more []wasmCondition) wasmCondition {
	return func(o *v1alpha1.WasmController) error {
		s := &o.Status
		if s.FSM == nil || s.FSM.Generation < generation || s.FSM.State != state {
			return fmt.Errorf("the last error is %q, the position %+v, want the state %s", s.LastError, s.FSM, state)
		}
		for _, f := range more {
			if err := f(o); err != nil {
				return err
			}
		}
		return nil
	}
}

// wasmSuite is a namespace with objects.
type wasmSuite struct {
	client   *kube.Client
	ns       string
	objects  *kube.API[v1alpha1.WasmController]
	registry *registrytest.Server
	store    *registry.Store
}

func newWasmSuite(t *testing.T) *wasmSuite {
	t.Helper()
	c := connect(t, nil)
	if err := operator.Install(limit(t), c); err != nil {
		t.Fatal(err)
	}
	ns, server := newNamespace(t, c), registrytest.New(t)
	awaitPods(t, c, ns)
	store, err := registry.New(&registry.Options{Dir: t.TempDir(), PlainHTTP: []string{server.Host}})
	if err != nil {
		t.Fatal(err)
	}
	return &wasmSuite{c, ns, kube.Namespaced[v1alpha1.WasmController](c, ns), server, store}
}

func (s *wasmSuite) create(t *testing.T, name string, spec v1alpha1.WasmControllerSpec) {
	t.Helper()
	if _, err := s.objects.Create(limit(t), v1alpha1.NewWasmController(s.ns, name, spec), nil); err != nil {
		t.Fatal(err)
	}
}

func (s *wasmSuite) change(t *testing.T, name string, spec map[string]any) int64 {
	t.Helper()
	obj, err := s.objects.Patch(limit(t), name, kube.MergePatch(map[string]any{"spec": spec}), nil)
	if err != nil {
		t.Fatal(err)
	}
	return obj.Generation
}

func (s *wasmSuite) await(
	t *testing.T, name string, generation int64, state string, more ...wasmCondition,
) *v1alpha1.WasmController {
	t.Helper()
	obj, err := kube.Await(whileCompiling(t), s.objects, name, wasmIs(generation, state, more), nil)
	if err != nil {
		t.Fatal(err)
	}
	return obj
}

// digestOf is a condition: the digest of the module is that of a binary.
func digestOf(t *testing.T, binary []byte) wasmCondition {
	t.Helper()
	file := filepath.Join(t.TempDir(), "a.wasm")
	if err := os.WriteFile(file, binary, 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := registry.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return func(o *v1alpha1.WasmController) error {
		if o.Status.Digest != m.Digest {
			return fmt.Errorf("the digest is %s, want %s", o.Status.Digest, m.Digest)
		}
		return nil
	}
}

// reasonsOf returns the reasons of the events about an object.
func reasonsOf(ctx context.Context, c *kube.Client, ns, name string) (reasons []string, err error) {
	for e, err := range kube.Namespaced[corev1.Event](c, ns).All(ctx, nil) {
		if err != nil {
			return nil, err
		}
		if e.InvolvedObject.Kind == "WasmController" && e.InvolvedObject.Name == name {
			reasons = append(reasons, e.Reason)
		}
	}
	return reasons, nil
}

// TestWasmControllerFromItsCreationToItsDeletion runs a module from a registry, replaces it, lets it fail until it is
// quarantined, suspends it, and deletes it, while another one runs in the same host.
func TestWasmControllerFromItsCreationToItsDeletion(t *testing.T) {
	t.Parallel()
	s := newWasmSuite(t)
	h := runWasmHost(t, s.client, s.ns, operator.Options{Store: s.store})
	first, second := buildInGo(t, wasmGuest), wasmVersion('2')
	ready := kube.StatusCondition[v1alpha1.WasmController]("Ready", metav1.ConditionTrue)

	s.create(t, "a", v1alpha1.WasmControllerSpec{
		Image: s.registry.Push(first), Args: []string{"ticker"},
		Env: []v1alpha1.EnvVar{{Name: "A", Value: "b"}},
	})
	s.create(t, "other", v1alpha1.WasmControllerSpec{Image: s.registry.Push(first), Args: []string{"ticker"}})
	s.await(t, "other", 1, "Running", ready, digestOf(t, first))
	since := wasmSince(h.host, s.ns+"/other")
	obj := s.await(t, "a", 1, "Running", ready, digestOf(t, first))
	if obj.Spec.ServiceAccountName != "default" {
		t.Errorf("the service account is %q", obj.Spec.ServiceAccountName)
	}
	if !slices.Contains(obj.Finalizers, operator.Name) {
		t.Errorf("the finalizers are %q", obj.Finalizers)
	}
	if n := s.registry.Requests("/manifests/"); n < 1 || n > 2 {
		t.Errorf("the registry got %d requests for the manifest", n)
	}

	generation := s.change(t, "a", map[string]any{"image": s.registry.Push(second)})
	s.await(t, "a", generation, "Running", ready, digestOf(t, second))

	failing := registrytest.Guest{Fails: true}.Module()
	generation = s.change(t, "a", map[string]any{"image": s.registry.Push(failing)})
	isStalled := kube.StatusCondition[v1alpha1.WasmController]("Stalled", metav1.ConditionTrue)
	obj = s.await(t, "a", generation, "Quarantined", isStalled)
	if obj.Status.Failures != 3 || obj.Status.LastError == "" {
		t.Errorf("the status has %d failures, the last with %q", obj.Status.Failures, obj.Status.LastError)
	}
	if ready(obj) == nil {
		t.Error("a quarantined object is ready")
	}
	eventually(t, "events", func(ctx context.Context) error {
		got, err := reasonsOf(ctx, s.client, s.ns, "a")
		if err != nil {
			return err
		}
		for _, want := range []string{"Pulled", "Compiled", "Started", "Quarantined"} {
			if !slices.Contains(got, want) {
				return fmt.Errorf("the events are %q, without %s", got, want)
			}
		}
		return nil
	})

	generation = s.change(t, "a", map[string]any{"image": s.registry.Push(second)})
	obj = s.await(t, "a", generation, "Running", ready)
	if obj.Status.Failures != 0 || obj.Status.LastError != "" {
		t.Errorf("the replaced module has %d failures, the last with %q", obj.Status.Failures, obj.Status.LastError)
	}

	generation = s.change(t, "a", map[string]any{"suspend": true})
	s.await(t, "a", generation, "Stopped")
	eventually(t, "suspended", func(context.Context) error { return wasmNames(h.host, s.ns+"/other") })
	generation = s.change(t, "a", map[string]any{"suspend": false})
	s.await(t, "a", generation, "Running", ready)

	if err := kube.DeleteAndWait(limit(t), s.objects, "a", nil); err != nil {
		t.Fatal(err)
	}
	if err := wasmNames(h.host, s.ns+"/other"); err != nil {
		t.Error(err)
	}
	if now := wasmSince(h.host, s.ns+"/other"); now != since {
		t.Errorf("the other module was restarted: it runs since %v, before %v", now, since)
	}
	if err := kube.DeleteAndWait(limit(t), s.objects, "other", nil); err != nil {
		t.Fatal(err)
	}
}

// wasmNames returns an error unless a host has exactly these modules.
func wasmNames(h *host.Host, want ...string) error {
	var got []string
	for _, status := range h.Status() {
		got = append(got, status.Name)
	}
	if !slices.Equal(got, want) {
		return fmt.Errorf("the modules are %q, want %q", got, want)
	}
	return nil
}

// wasmSince returns since when a module of a host has its phase.
func wasmSince(h *host.Host, name string) time.Time {
	for _, status := range h.Status() {
		if status.Name == name {
			return status.Since
		}
	}
	return time.Time{}
}

// TestWasmControllerThatCannotRunSaysWhy covers images that can't be pulled or compiled, and specs that are invalid.
func TestWasmControllerThatCannotRunSaysWhy(t *testing.T) {
	t.Parallel()
	s := newWasmSuite(t)
	h := runWasmHost(t, s.client, s.ns, operator.Options{Store: s.store})
	guest := wasmVersion('1')
	image := s.registry.Push(guest)
	for name, spec := range map[string]v1alpha1.WasmControllerSpec{
		"tag":     {Image: "ghcr.io/example/hello:v1"},
		"both":    {Image: image, File: "a.wasm"},
		"neither": {},
		"memory":  {Image: image, Limits: v1alpha1.Limits{Memory: new(resource.MustParse("1e9"))}},
	} {
		_, err := s.objects.Create(limit(t), v1alpha1.NewWasmController(s.ns, name, spec), nil)
		if !errors.Is(err, kube.ErrInvalid) {
			t.Errorf("%s: Create = %v", name, err)
		}
	}
	says := func(text string) wasmCondition {
		return func(o *v1alpha1.WasmController) error {
			if !strings.Contains(o.Status.LastError, text) {
				return fmt.Errorf("the last error is %q, want one with %q", o.Status.LastError, text)
			}
			return nil
		}
	}
	s.create(t, "file", v1alpha1.WasmControllerSpec{File: "a.wasm"})
	s.await(t, "file", 1, "Pulling", says("spec.file: this host reads no files"))
	unknown := s.registry.Host + "/modules/test@sha256:" + strings.Repeat("0", 64)
	s.create(t, "unknown", v1alpha1.WasmControllerSpec{Image: unknown})
	s.await(t, "unknown", 1, "Pulling", says("not found"))
	// The module appears in the registry: the next attempt finds it.
	generation := s.change(t, "unknown", map[string]any{"image": image, "args": []string{"ticker"}})
	s.await(t, "unknown", generation, "Running", digestOf(t, guest))
	// The next module can't be compiled: the previous one still runs.
	bad := s.registry.Push([]byte("\x00asm\x01\x00\x00\x00garbage"))
	generation = s.change(t, "unknown", map[string]any{"image": bad})
	obj := s.await(t, "unknown", generation, "Quarantined", digestOf(t, guest))
	if err := kube.StatusCondition[v1alpha1.WasmController]("Stalled", metav1.ConditionTrue)(obj); err != nil {
		t.Error(err)
	}
	if err := wasmNames(h.host, s.ns+"/unknown"); err != nil {
		t.Error(err)
	}
	eventually(t, "events", func(ctx context.Context) error {
		got, err := reasonsOf(ctx, s.client, s.ns, "unknown")
		if err == nil && (!slices.Contains(got, "PullFailed") || !slices.Contains(got, "Rejected")) {
			err = fmt.Errorf("the events are %q", got)
		}
		return err
	})
	for _, name := range []string{"file", "unknown"} {
		if err := kube.DeleteAndWait(limit(t), s.objects, name, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := wasmNames(h.host); err != nil {
		t.Error(err)
	}
}

// TestWasmControllerHasTheIdentityOfItsServiceAccount lists objects with and without permission.
func TestWasmControllerHasTheIdentityOfItsServiceAccount(t *testing.T) {
	t.Parallel()
	s := newWasmSuite(t)
	h := runWasmHost(t, s.client, s.ns, operator.Options{Store: s.store})
	image, path := s.registry.Push(buildInGo(t, wasmGuest)), "/api/v1/namespaces/"+s.ns+"/configmaps"
	says := func(text string) {
		t.Helper()
		eventually(t, text, func(context.Context) error {
			if !strings.Contains(h.log.get(), text) {
				return errors.New("it was not logged")
			}
			return nil
		})
	}
	s.create(t, "default", v1alpha1.WasmControllerSpec{Image: image, Args: []string{"get", path}})
	s.await(t, "default", 1, "Running")
	says(`response {\"status\":403`)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "reader"}}
	if _, err := kube.Namespaced[corev1.ServiceAccount](s.client, s.ns).Create(limit(t), account, nil); err != nil {
		t.Fatal(err)
	}
	grant(t, s.client, s.ns, "system:serviceaccount:"+s.ns+":reader", "configmaps")
	s.create(t, "reader", v1alpha1.WasmControllerSpec{
		Image: image, Args: []string{"get", path}, ServiceAccountName: "reader",
	})
	says(`response {\"status\":200`)
	for _, name := range []string{"default", "reader"} {
		if err := kube.DeleteAndWait(limit(t), s.objects, name, nil); err != nil {
			t.Fatal(err)
		}
	}
}

// TestWasmControllerFollowsItsFileAndSurvivesARestart replaces the file of a module, and then the program of the host.
func TestWasmControllerFollowsItsFileAndSurvivesARestart(t *testing.T) {
	t.Parallel()
	s, dir := newWasmSuite(t), t.TempDir()
	h := runWasmHost(t, s.client, s.ns, operator.Options{Files: dir})
	write := func(binary []byte) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "a.wasm"), binary, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.create(t, "a", v1alpha1.WasmControllerSpec{File: "a.wasm", Args: []string{"ticker"}})
	s.await(t, "a", 1, "Pulling")
	first, second := wasmVersion('1'), wasmVersion('2')
	write(first)
	s.await(t, "a", 1, "Running", digestOf(t, first))
	write(second)
	s.await(t, "a", 1, "Running", digestOf(t, second))
	if err := h.stop(); err != nil {
		t.Error(err)
	}
	before, err := s.objects.Get(limit(t), "a", nil)
	if err != nil {
		t.Fatal(err)
	}
	write(bytes.Clone(first))
	runWasmHost(t, s.client, s.ns, operator.Options{Files: dir})
	after := s.await(t, "a", 1, "Running", digestOf(t, first))
	if !after.Status.FSM.Since.After(before.Status.FSM.Since.Time) {
		t.Errorf("the module runs since %v, before %v", after.Status.FSM.Since, before.Status.FSM.Since)
	}
	if err := kube.DeleteAndWait(limit(t), s.objects, "a", nil); err != nil {
		t.Fatal(err)
	}
}

// TestKubeWasmRunsObjectsFilesAndADirectory runs the command with everything that it can run.
func TestKubeWasmRunsObjectsFilesAndADirectory(t *testing.T) {
	t.Parallel()
	s, dir := newWasmSuite(t), t.TempDir()
	program, kubeconfig := filepath.Join(t.TempDir(), "kube-wasm"), os.Getenv("KUBECONFIG")
	if builtin != nil {
		kubeconfig = builtin.Kubeconfig()
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./cmd/kube-wasm")
	build.Dir, build.Env = "../../wasm", append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for name, guest := range map[string]registrytest.Guest{
		"file.wasm": {Log: "from a file"}, "dir/dir.wasm": {Log: "from a directory"}, "files/a.wasm": {Log: "from an object"},
	} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, guest.Module(), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	s.create(t, "file", v1alpha1.WasmControllerSpec{File: "a.wasm"})
	s.create(t, "image", v1alpha1.WasmControllerSpec{Image: s.registry.Push(wasmVersion('1'))})
	ctx, stop := context.WithCancel(t.Context())
	cmd := exec.CommandContext(ctx, program,
		"run", "-kubeconfig", kubeconfig, "-controller", "-install", "-namespace", s.ns,
		"-cache", t.TempDir(), "-plain-http", s.registry.Host, "-images", s.registry.Host+"/modules/",
		"-files", filepath.Join(dir, "files"), "-dir", filepath.Join(dir, "dir"), "-leader-election", "kube-wasm-"+s.ns,
		filepath.Join(dir, "file.wasm"))
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	log := &wasmHost{log: &guarded[string]{}}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := sync.OnceValue(func() error {
		stop()
		return cmd.Wait()
	})
	t.Cleanup(func() { _ = ended() })
	for _, name := range []string{"file", "image"} {
		s.await(t, name, 1, "Running")
	}
	eventually(t, "logs", func(context.Context) error {
		for _, want := range []string{
			`msg="from a file" module=file`, `msg="from a directory" module=dir`,
			`msg="from an object" module=` + s.ns + "/file", `msg="version 1" module=` + s.ns + "/image",
		} {
			if text := log.log.get(); !strings.Contains(text, want) {
				return fmt.Errorf("the log does not contain %q:\n%s", want, text)
			}
		}
		return nil
	})
	for _, name := range []string{"file", "image"} {
		if err := kube.DeleteAndWait(limit(t), s.objects, name, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := ended(); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("kube-wasm: %v\n%s", err, log.log.get())
	}
}
