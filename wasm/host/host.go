// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"
	"golang.org/x/time/rate"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/discovery"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/cache"
)

// Options are the options of [New]. The zero value of a field is its default.
//
// The proxies for the requests of modules to their origins come from the environment variables HTTPS_PROXY, HTTP_PROXY
// and NO_PROXY, see [http.ProxyFromEnvironment]. Requests to the API server have the proxy of the client's
// configuration.
type Options struct {
	// Logger logs what happens to modules, and the records that they log. Default: [slog.Default].
	Logger *slog.Logger

	// Workers is the maximum number of instances that run at the same time, not counting those that have run for more than
	// 0.1 s. Default: the number of CPUs.
	Workers int

	// CompilationDir is a directory that keeps compiled modules, so that they start faster the next time. The host runs
	// the code in it: use a directory that only this program can write. Default: none.
	CompilationDir string

	// InitialBackoff is the time from the first failure of a module to its next start. It doubles with each failure in
	// succession, up to 5 min. Default: 1 s.
	InitialBackoff time.Duration

	// IdleAfter is how long an actor is idle before its memory is stored in a temporary file and released, until an item
	// or a timer of the module is due. The file has no name, and needs a descriptor. If IdleAfter is negative, modules
	// stay in memory. Default: 30 s.
	IdleAfter time.Duration

	// MaxFailures is the number of failures in succession after which a module is quarantined. An instance that has run
	// for 5 min starts a new count. Errors of the host, such as too many open files, or an error of Module.Record, do not
	// count as failures of the module: it starts again after them. Default: 5.
	MaxFailures int

	// AuthorizationInterval is the time between two checks whether a module may still read the objects of its watches.
	// Default: 1 min.
	AuthorizationInterval time.Duration
}

// Module is a controller that a host runs.
type Module struct {
	Name   string // unique in the host
	Binary []byte // the WebAssembly module

	// ServiceAccount is the identity of the module: the host requests short-lived tokens for it. The module reads and
	// writes what the service account may. Default: the identity of the host's client.
	ServiceAccount core.ObjectRef

	// Origins are the servers, apart from the API server, that the module may send requests to, such as
	// https://hooks.example.com or http://10.0.0.1:8080. A name whose address is a loopback or link-local one, or that
	// of a cloud's metadata service, is refused: name the address instead, such as http://127.0.0.1:8080. See [Options]
	// for proxies. Default: none.
	Origins []string

	// Record returns a writer for a recording of each new instance, see [Replay]. The recording contains what the
	// module reads, such as the data of secrets. Each call of the module is written when it has ended. Recordings end,
	// and no further ones begin, when they reach 1 GiB in total, until the module is replaced. The host closes a writer
	// that is an io.Closer. Default: nothing is recorded.
	Record func() (io.Writer, error)

	Namespace string            // of requests that name none
	Args      []string          // after the name of the program
	Env       map[string]string // of the program; an actor has it from the beginning of kube_start
	Limits    Limits
}

// Limits bound what a module may use. The zero value of a field is its default.
type Limits struct {
	MemoryBytes       int64         // memory of an instance; a reconciler has up to 8 instances; default 256 MiB
	CallTimeout       time.Duration // time for which one call of the guest may run; default 10 s
	CPU               float64       // CPUs for calls and messages of runs, after a burst of 60 s times CPU; default 0.5
	InFlight          int           // operations of an instance that have not ended; default 16384
	Watches           int           // watches that have not ended, also of controllers of a reconciler; default 128
	RequestsPerSecond int           // requests and new watches, after a burst of twice as many; default 50
	LogsPerSecond     int           // records, with those of runs, after a burst of ten times as many; default 100

	// BufferBytes is the memory of the host in bytes for operations that have not ended: their messages, the items that
	// wait for the guest, and 512 KiB for each request, 128 KiB for each watch. One item may exceed the limit. While it is
	// exceeded, the items of all operations wait until the guest has received some. Default: 64 MiB.
	BufferBytes int64

	// CacheBytes is the memory of the host in bytes for the objects that the module watches. All objects of a shared watch
	// count, once, whether other modules use it or not, as do the changes that wait for the guest, and the previous states
	// of objects. A watch that exceeds the limit ends with an error, and is refused for 30 s. The others go on.
	// Default: 256 MiB.
	CacheBytes int64
}

func (l *Limits) setDefaults() error {
	const (
		maxMemory = 4 << 30 // bytes of a WebAssembly memory
		maxRate   = 1 << 27 // no module reaches it, and the bursts do not overflow
	)
	l.MemoryBytes = min(cmp.Or(l.MemoryBytes, 256<<20), maxMemory)
	l.CallTimeout = cmp.Or(l.CallTimeout, 10*time.Second)
	l.CPU = cmp.Or(l.CPU, 0.5)
	l.InFlight = cmp.Or(l.InFlight, 16384)
	l.Watches = cmp.Or(l.Watches, 128)
	l.RequestsPerSecond = min(cmp.Or(l.RequestsPerSecond, 50), maxRate)
	l.LogsPerSecond = min(cmp.Or(l.LogsPerSecond, 100), maxRate)
	l.BufferBytes = cmp.Or(l.BufferBytes, 64<<20)
	l.CacheBytes = cmp.Or(l.CacheBytes, 256<<20)
	if min(l.MemoryBytes, int64(l.CallTimeout), int64(l.InFlight), int64(l.Watches), int64(l.RequestsPerSecond),
		int64(l.LogsPerSecond), l.BufferBytes, l.CacheBytes) < 0 || !(l.CPU > 0) {
		return fmt.Errorf("Module.Limits is %+v, but limits must not be negative: leave them zero for the defaults", *l)
	}
	return nil
}

// Status is the state of a module.
type Status struct {
	Name     string
	Digest   string // of the binary: sha256:…
	Phase    Phase
	Since    time.Time // when the phase began
	Failures int       // in succession
	Err      error     // the last failure, error of the host, or reason why a controller does not run
	Blocked  error     // why a controller of a reconciler does not run, such as a missing permission; nil if all run
	Stats    Stats
}

// Host runs modules. Create one with [New]. All its methods are safe for concurrent use, also while Run is active. Run
// can be called once.
type Host struct {
	client    *client.Client
	anonymous *client.Client // without credentials

	ownMu sync.Mutex     // guards own
	own   *client.Client // see identified; nil until it has succeeded

	egress  *http.Transport
	watches *shared
	options Options
	runtime wazero.Runtime // has CompilationDir
	slots   chan struct{}  // has a token for each guest that runs

	rechecks chan struct{} // has a token for each repeated check of a permission

	discovered *discovery.Cache
	kinds      *kinds

	ctx   context.Context //nolint:containedctx // of the instances; ends with Run
	end   context.CancelFunc
	turns sync.WaitGroup

	compiling sync.WaitGroup // calls of the runtime's compiler; grows only with mu held, and not after ended

	mu       sync.Mutex // guards the fields below
	running  bool
	ended    bool // Run has ended: no guest is added
	guests   map[string]*guest
	setting  map[string]chan struct{} // the names for which Set or Remove runs; closed at its end
	programs map[string]*program      // by digest
	uncached wazero.Runtime           // does not have CompilationDir; nil until it is needed
}

// New returns a host whose modules use the server of a client. The requests of the modules have connections of their
// own, which are made from the Config of the client: its Options.Transport and Options.Plugin have no effect on them.
func New(ctx context.Context, c *client.Client, o *Options) (*Host, error) {
	if c == nil {
		return nil, errors.New("host: the client is nil: pass the client of the API server that the modules use")
	}
	h := &Host{
		client: c, guests: make(map[string]*guest), setting: make(map[string]chan struct{}),
		programs: make(map[string]*program), rechecks: make(chan struct{}, maxRechecks),
	}
	if o != nil {
		h.options = *o
	}
	if h.options.Logger == nil {
		h.options.Logger = slog.Default()
	}
	h.options.Workers = cmp.Or(h.options.Workers, runtime.GOMAXPROCS(0))
	h.options.InitialBackoff = cmp.Or(h.options.InitialBackoff, time.Second)
	h.options.MaxFailures = cmp.Or(h.options.MaxFailures, 5)
	h.options.AuthorizationInterval = cmp.Or(h.options.AuthorizationInterval, time.Minute)
	if h.options.Workers < 0 || h.options.InitialBackoff < 0 || h.options.MaxFailures < 0 ||
		h.options.AuthorizationInterval < 0 {
		return nil, errors.New("host: Workers, InitialBackoff, MaxFailures and AuthorizationInterval must not be " +
			"negative: leave them zero for the default")
	}
	h.options.IdleAfter = cmp.Or(h.options.IdleAfter, 30*time.Second)
	h.slots = make(chan struct{}, h.options.Workers)
	var err error
	if h.anonymous, err = anonymous(ctx, c); err != nil {
		return nil, fmt.Errorf("host: %w", err)
	}
	h.egress = newEgress(http.ProxyFromEnvironment)
	h.discovered, h.kinds = discovery.NewCache(nil), newKinds(h)
	h.watches = newShared(c, &cache.Options{Logger: h.options.Logger})
	h.ctx, h.end = context.WithCancel(context.WithoutCancel(ctx))
	if h.runtime, err = h.newRuntime(h.options.CompilationDir); err != nil {
		return nil, fmt.Errorf("host: %w", err)
	}
	return h, nil
}

// newRuntime returns a runtime with the functions that guests import. The directory is that of the compiled modules, or
// empty.
func (h *Host) newRuntime(dir string) (wazero.Runtime, error) {
	config := wazero.NewRuntimeConfig().WithCloseOnContextDone(true).WithDebugInfoEnabled(false)
	if dir != "" {
		compilation, err := wazero.NewCompilationCacheWithDir(dir)
		if err != nil {
			return nil, fmt.Errorf("Options.CompilationDir: %w", err)
		}
		config = config.WithCompilationCache(compilation)
	}
	r := wazero.NewRuntimeWithConfig(h.ctx, config)
	if err := errors.Join(addWASI(h.ctx, r), addImports(h.ctx, r)); err != nil {
		return nil, errors.Join(err, r.Close(h.ctx))
	}
	return r, nil
}

// withoutCache returns the runtime for modules whose compiled code in CompilationDir can't be read.
func (h *Host) withoutCache() (r wazero.Runtime, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.uncached == nil {
		if r, err = h.newRuntime(""); err != nil {
			return nil, err
		}
		h.uncached = r
	}
	return h.uncached, nil
}

// closeRuntimes releases all code. No instance is open.
func (h *Host) closeRuntimes(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	err := h.runtime.Close(ctx)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.uncached != nil {
		err = errors.Join(err, h.uncached.Close(ctx))
	}
	return err
}

// digestOf returns the digest of a module.
func digestOf(binary []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(binary)) }

// acquire waits until a guest may run.
func (h *Host) acquire() { h.slots <- struct{}{} }

// acquireFor is acquire, but ends with ctx and returns the cause.
func (h *Host) acquireFor(ctx context.Context) error {
	select {
	case h.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// release lets another guest run.
func (h *Host) release() { <-h.slots }

// spawn runs f in a goroutine, for which Run waits.
func (h *Host) spawn(f func()) { h.turns.Go(f) }

// lock waits until no other call of Set or Remove concerns a module.
func (h *Host) lock(ctx context.Context, name string) (unlock func(), err error) {
	for {
		h.mu.Lock()
		other := h.setting[name]
		if other == nil {
			own := make(chan struct{})
			h.setting[name] = own
			h.mu.Unlock()
			return func() {
				h.mu.Lock()
				defer h.mu.Unlock()
				delete(h.setting, name)
				close(own)
			}, nil
		}
		h.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// Set adds a module, or replaces the one with the same name if they differ in more than Record. It compiles the module,
// which takes seconds for a large one. The module starts when the host runs. After an error of the host, for which
// [IsHostError] is true, a later call may succeed.
func (h *Host) Set(ctx context.Context, m Module) error {
	if m.Name == "" {
		return errors.New("host: Module.Name is empty: set a name that no other module of the host has")
	}
	if err := h.set(ctx, m); err != nil {
		return fmt.Errorf("module %q: %w", m.Name, err)
	}
	return nil
}

func (h *Host) set(ctx context.Context, m Module) error {
	if err := m.Limits.setDefaults(); err != nil {
		return err
	}
	for _, origin := range m.Origins {
		if err := CheckOrigin(origin); err != nil {
			return fmt.Errorf("Module.Origins: %w", err)
		}
	}
	unlock, err := h.lock(ctx, m.Name)
	if err != nil {
		return err
	}
	defer unlock()
	digest := digestOf(m.Binary)
	h.mu.Lock()
	old := h.guests[m.Name]
	h.mu.Unlock()
	if old != nil && old.digest == digest && sameModule(old.module, m) {
		return nil
	}
	g := h.newGuest(m, digest)
	if g.client, err = h.clientOf(ctx, &m, g.throttle, g.limitedLogger()); err != nil {
		g.stop(err)
		return err
	}
	// The program is used before the old guest leaves it: it may be the same.
	if g.program, err = h.program(ctx, digest, m.Binary); err != nil {
		g.stop(err)
		return err
	}
	h.remove(ctx, m.Name)
	h.mu.Lock()
	ended := h.ended
	if !ended {
		h.guests[m.Name] = g
		if h.running {
			g.begin()
		}
	}
	h.mu.Unlock()
	if ended {
		g.stop(errEnded)
		h.leave(ctx, digest, g.program)
		return errEnded
	}
	return nil
}

// errEnded is why a module can't be set.
var errEnded = errors.New("the host has ended")

// newGuest returns a guest without a client and a program. The module has its defaults.
func (h *Host) newGuest(m Module, digest string) *guest {
	m.Binary = nil // its digest and its program remain
	m.Args, m.Env, m.Origins = slices.Clone(m.Args), maps.Clone(m.Env), slices.Clone(m.Origins)
	g := &guest{
		host: h, module: m, digest: digest, logger: h.options.Logger.With(slog.String("module", m.Name)),
		logs:     rate.NewLimiter(rate.Limit(m.Limits.LogsPerSecond), 10*m.Limits.LogsPerSecond),
		requests: rate.NewLimiter(rate.Limit(m.Limits.RequestsPerSecond), 2*m.Limits.RequestsPerSecond),
		budget:   budget{limit: m.Limits.BufferBytes},
		quota:    quota{limit: m.Limits.CacheBytes},
		cpu:      newCPU(m.Limits.CPU, time.Now()),
		removing: make(chan struct{}),
		ended:    make(chan struct{}),
		lifecycle: lifecycle{
			phase: Starting, since: time.Now(), backOff: h.options.InitialBackoff, maxFailures: h.options.MaxFailures,
		},
	}
	g.tapes.Store(maxTapes)
	g.ctx, g.stop = context.WithCancelCause(h.ctx)
	return g
}

// sameModule reports whether two modules differ in nothing but their binaries and recordings.
func sameModule(a, b Module) bool {
	a.Binary, b.Binary, a.Record, b.Record = nil, nil, nil, nil
	return reflect.DeepEqual(a, b)
}

// Remove ends a module, and waits until it has ended, even if ctx ends. It does nothing if the host has no module with
// the name.
func (h *Host) Remove(ctx context.Context, name string) {
	ctx = context.WithoutCancel(ctx) // the time in which a module ends is limited
	h.mu.Lock()
	g, running := h.guests[name], h.running
	h.mu.Unlock()
	if g != nil && running {
		g.remove() // at once: Set may have the lock, and compile another version
	}
	if unlock, err := h.lock(ctx, name); err == nil {
		defer unlock()
		h.remove(ctx, name)
	}
}

func (h *Host) remove(ctx context.Context, name string) {
	h.mu.Lock()
	g, running := h.guests[name], h.running
	delete(h.guests, name)
	h.mu.Unlock()
	if g == nil {
		return
	}
	if running {
		g.remove()
	}
	g.stop(errRemoved)
	g.program.release(g)
	h.leave(ctx, g.digest, g.program)
}

// Status returns the state of all modules, sorted by name.
func (h *Host) Status() []Status {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := make([]Status, 0, len(h.guests))
	for _, g := range h.guests {
		all = append(all, g.status())
	}
	slices.SortFunc(all, func(a, b Status) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// StatusOf returns the state of a module, and whether the host has it.
func (h *Host) StatusOf(name string) (Status, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	g, found := h.guests[name]
	if !found {
		return Status{}, false
	}
	return g.status(), true
}

// Run runs the modules until ctx ends, and returns the cause. It can be called once.
func (h *Host) Run(ctx context.Context) error {
	h.mu.Lock()
	h.running = true
	for _, g := range h.guests {
		g.begin()
	}
	h.mu.Unlock()
	<-ctx.Done()
	h.mu.Lock()
	h.ended = true
	h.mu.Unlock()
	var removals sync.WaitGroup
	for _, s := range h.Status() {
		removals.Go(func() { h.Remove(ctx, s.Name) })
	}
	removals.Wait()
	h.end()
	h.turns.Wait()
	h.compiling.Wait()
	h.egress.CloseIdleConnections()
	h.anonymous.CloseIdleConnections()
	h.ownMu.Lock()
	if h.own != nil {
		h.own.CloseIdleConnections()
	}
	h.ownMu.Unlock()
	if err := h.closeRuntimes(ctx); err != nil {
		return err
	}
	return context.Cause(ctx)
}
