// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/events"
	"github.com/kube-go/sdk/runtime/fsm"
	"github.com/kube-go/sdk/wasm/host"
	"github.com/kube-go/sdk/wasm/registry"
	"github.com/kube-go/sdk/wasm/v1alpha1"
)

// The maximums of limits. A WebAssembly memory has at most 4 GiB. The memory for watches has the same maximum.
const (
	maxMemory      = 4 << 30
	maxCallTimeout = 5 * time.Minute
	maxCPU         = 8 // as many as a reconciler has instances
)

// How many jobs may run at the same time. Each holds a module in memory.
const (
	pulls    = 8
	compiles = 2
)

// fileCheck is the time between two checks whether a file has changed.
const fileCheck = 2 * time.Second

// Modules are the modules of objects in a host. Create them with [New]. They are safe for concurrent use, but only one
// Run may be active at a time.
type Modules struct {
	host     *host.Host
	store    *registry.Store // nil if the host pulls no images
	files    string          // the directory of the files; empty if the host reads no files
	root     *os.Root        // of files, during Run
	origins  []string        // that objects may have
	jobs     *jobs
	wakes    *wakes
	machine  *fsm.Machine[v1alpha1.WasmController]
	recorder *events.Recorder

	pulling, compiling chan struct{} // have a token for each active job

	mu  sync.Mutex // guards all
	all map[string]*record
}

// record is what the host was last asked to run for an object.
type record struct {
	uid      types.UID // of the object
	config   string
	file     mark      // of the file that was read
	seen     mark      // of the file, when it was last checked
	since    time.Time // when the file was found in this state
	rejected error     // why the host can't run it
}

// mark identifies a state of a file.
type mark struct {
	size  int64
	mtime time.Time
	info  os.FileInfo // has the identity of the file; nil for an image
}

// same reports whether two states are the same. Another file may have the same size and time, as in archives with
// reproducible times.
func (m mark) same(other mark) bool {
	return m.size == other.size && m.mtime.Equal(other.mtime) && os.SameFile(m.info, other.info)
}

// nameOf returns the name of the module of an object.
func nameOf(obj *v1alpha1.WasmController) string { return obj.Namespace + "/" + obj.Name }

// refOf returns the object of a module.
func refOf(name string) core.ObjectRef {
	namespace, name, _ := strings.Cut(name, "/")
	return core.ObjectRef{Namespace: namespace, Name: name}
}

// configOf identifies what an object wants to run. Another object of the same name is something else.
func configOf(obj *v1alpha1.WasmController) string {
	data, err := json.Marshal(struct {
		UID  types.UID
		Spec v1alpha1.WasmControllerSpec
	}{obj.UID, obj.Spec})
	if err != nil { // of a quantity that a server does not accept
		return err.Error()
	}
	return fmt.Sprintf("%x", sha256.Sum256(data))
}

// check returns why this host can't run a module with a spec.
func (m *Modules) check(spec *v1alpha1.WasmControllerSpec) error {
	l := spec.Limits
	switch {
	case (spec.Image == "") == (spec.File == ""):
		return errors.New("spec: set either image or file")
	case spec.Image != "" && m.store == nil:
		return errors.New("spec.image: this host pulls no images; start kube-wasm with -cache")
	case spec.File != "" && m.files == "":
		return errors.New("spec.file: this host reads no files; start kube-wasm with -files")
	case l.Memory != nil && (l.Memory.Sign() <= 0 || l.Memory.CmpInt64(maxMemory) > 0):
		return fmt.Errorf("spec.limits.memory is %s, want more than 0 and at most 4Gi", l.Memory)
	case l.CacheMemory != nil && (l.CacheMemory.Sign() <= 0 || l.CacheMemory.CmpInt64(maxMemory) > 0):
		return fmt.Errorf("spec.limits.cacheMemory is %s, want more than 0 and at most 4Gi", l.CacheMemory)
	case l.CPU != nil && (l.CPU.Sign() <= 0 || l.CPU.CmpInt64(maxCPU) > 0):
		return fmt.Errorf("spec.limits.cpu is %s, want more than 0 and at most %d", l.CPU, maxCPU)
	case l.CallTimeout != nil && (l.CallTimeout.Duration <= 0 || l.CallTimeout.Duration > maxCallTimeout):
		return fmt.Errorf("spec.limits.callTimeout is %v, want more than 0 and at most %v", l.CallTimeout.Duration,
			maxCallTimeout)
	case min(l.InFlight, l.Watches, l.RequestsPerSecond, l.LogsPerSecond) < 0:
		return errors.New("spec.limits: inFlight, watches, requestsPerSecond and logsPerSecond must not be negative")
	}
	for _, origin := range spec.Origins {
		if err := host.CheckOrigin(origin); err != nil {
			return fmt.Errorf("spec.origins: %w", err)
		}
		if !slices.Contains(m.origins, origin) {
			return fmt.Errorf("spec.origins: this host does not allow %s; start kube-wasm with -allow-origin %s", origin, origin)
		}
	}
	return nil
}

// moduleOf returns the module of an object.
func moduleOf(obj *v1alpha1.WasmController, binary []byte) host.Module {
	spec := &obj.Spec
	account := spec.ServiceAccountName
	if account == "" { // never the identity of the host
		account = "default"
	}
	m := host.Module{
		Name: nameOf(obj), Binary: binary, Namespace: obj.Namespace, Args: spec.Args,
		ServiceAccount: core.ObjectRef{Namespace: obj.Namespace, Name: account},
		Env:            make(map[string]string, len(spec.Env)),
		Origins:        spec.Origins,
		Limits: host.Limits{
			InFlight: int(spec.Limits.InFlight), Watches: int(spec.Limits.Watches),
			RequestsPerSecond: int(spec.Limits.RequestsPerSecond), LogsPerSecond: int(spec.Limits.LogsPerSecond),
		},
	}
	for _, e := range spec.Env {
		m.Env[e.Name] = e.Value
	}
	if q := spec.Limits.Memory; q != nil {
		m.Limits.MemoryBytes = q.Value()
	}
	if q := spec.Limits.CacheMemory; q != nil {
		m.Limits.CacheBytes = q.Value()
	}
	if q := spec.Limits.CPU; q != nil {
		m.Limits.CPU = q.AsApproximateFloat64()
	}
	if d := spec.Limits.CallTimeout; d != nil {
		m.Limits.CallTimeout = d.Duration
	}
	return m
}

// pull reads the module of an object, so that the store has it.
func (m *Modules) pull(obj *v1alpha1.WasmController) result {
	return m.jobs.do(nameOf(obj), "pull "+configOf(obj), retryLimit(obj), func(ctx context.Context) (string, error) {
		if err := acquire(ctx, m.pulling); err != nil {
			return "", err
		}
		defer release(m.pulling)
		module, _, err := m.load(ctx, obj)
		if err != nil {
			return "", err
		}
		return module.Digest, nil
	})
}

// retryLimit returns the maximum time until a module is read again. A file costs no request.
func retryLimit(obj *v1alpha1.WasmController) time.Duration {
	if obj.Spec.File != "" {
		return fileCheck
	}
	return 5 * time.Minute
}

// load returns the module of an object. It returns an error if this host can't run it.
func (m *Modules) load(ctx context.Context, obj *v1alpha1.WasmController) (*registry.Module, mark, error) {
	if err := m.check(&obj.Spec); err != nil {
		return nil, mark{}, err
	}
	if obj.Spec.Image != "" {
		module, err := m.store.Pull(ctx, obj.Spec.Image)
		return module, mark{}, err
	}
	at, err := m.stat(obj.Spec.File) // before it is read: a later change is found by the next check
	if err != nil {
		return nil, mark{}, err
	}
	module, err := registry.ReadFileIn(m.root, obj.Spec.File)
	return module, at, err
}

func (m *Modules) stat(path string) (mark, error) {
	info, err := m.root.Stat(path)
	if err != nil {
		return mark{}, err
	}
	return mark{info.Size(), info.ModTime(), info}, nil
}

// set passes the module of an object to the host. A module that the host can't run is not an error of the job: the
// record has it. After an error of the host, the job is repeated.
func (m *Modules) set(obj *v1alpha1.WasmController) result {
	name, config := nameOf(obj), configOf(obj)
	return m.jobs.do(name, "set "+config, retryLimit(obj), func(ctx context.Context) (string, error) {
		if err := acquire(ctx, m.compiling); err != nil {
			return "", err
		}
		defer release(m.compiling)
		module, at, err := m.load(ctx, obj)
		if err != nil {
			return "", err
		}
		next := &record{uid: obj.UID, config: config, file: at, seen: at}
		if s, ok := m.host.StatusOf(name); !ok || s.Digest != module.Digest || !m.has(name, config) {
			next.rejected = m.host.Set(ctx, moduleOf(obj, module.Binary))
		}
		if err := hindrance(ctx, next.rejected); err != nil {
			return "", err
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		m.all[name] = next
		return module.Digest, nil
	})
}

// hostFailure is an error of the host when it was asked to run a module.
type hostFailure struct{ error }

// hindrance returns nil if the error of [host.Host.Set] is one of the module, and otherwise why it must be set again.
func hindrance(ctx context.Context, err error) error {
	switch cause := context.Cause(ctx); {
	case err == nil:
		return nil
	case cause != nil:
		return cause
	case host.IsHostError(err):
		return hostFailure{fmt.Errorf("the host can't run the module: %w", err)}
	}
	return nil
}

// has reports whether the host was asked to run a config, and could.
func (m *Modules) has(name, config string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.all[name]
	return r != nil && r.config == config && r.rejected == nil
}

// hasOther reports whether the host was last asked to run the module of a deleted object with the name of an object.
func (m *Modules) hasOther(obj *v1alpha1.WasmController) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.all[nameOf(obj)]
	return r != nil && r.uid != obj.UID
}

// owns reports whether a module of the host is that of an object.
func (m *Modules) owns(name string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.all[name] != nil
}

// remove removes the module of an object from the host: at once, and again when the previous job, such as a
// compilation, has ended.
func (m *Modules) remove(name string) result {
	atOnce := func() { m.host.Remove(context.Background(), name) }
	return m.jobs.preempt(name, "remove", time.Second, atOnce, func(ctx context.Context) (string, error) {
		m.drop(ctx, name)
		return "", nil
	})
}

func (m *Modules) drop(ctx context.Context, name string) {
	m.host.Remove(context.WithoutCancel(ctx), name)
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.all, name)
}

// clear removes all modules of objects.
func (m *Modules) clear(ctx context.Context) {
	var drops sync.WaitGroup
	m.mu.Lock()
	for name := range m.all {
		drops.Go(func() { m.drop(ctx, name) })
	}
	m.mu.Unlock()
	drops.Wait()
}

// situation is what the host does for an object.
type situation struct {
	lost     bool  // it was not asked to run what the object wants
	rejected error // it can't run it
	status   host.Status
}

// observe returns what the host does for an object.
func (m *Modules) observe(obj *v1alpha1.WasmController) situation {
	name := nameOf(obj)
	status, found := m.host.StatusOf(name)
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.all[name]
	switch {
	case r == nil || r.config != configOf(obj) || obj.Spec.File != "" && m.changed(r, obj.Spec.File):
		return situation{lost: true, status: status}
	case r.rejected != nil:
		return situation{rejected: r.rejected, status: status}
	case !found || status.Phase == host.Removed:
		return situation{lost: true}
	}
	return situation{status: status}
}

// changed reports whether a file has changed, and was then found in the same state for a while, so that it is not being
// written. A file that does not exist has not changed.
func (m *Modules) changed(r *record, path string) bool {
	at, err := m.stat(path)
	if err != nil {
		return false
	}
	now := time.Now()
	if !at.same(r.seen) {
		r.seen, r.since = at, now
	}
	return !at.same(r.file) && now.Sub(r.since) >= fileCheck/2
}

// acquire waits for a token.
func acquire(ctx context.Context, tokens chan struct{}) error {
	select {
	case tokens <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func release(tokens chan struct{}) { <-tokens }
