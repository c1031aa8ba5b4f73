// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package engine runs WebAssembly modules as containers: commands of WASI preview 1, without files and sockets.
package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/examples/wasm-node/life"
	"github.com/kube-go/sdk/kube"
)

const (
	page = 64 << 10 // bytes of memory

	codeKilled     = 128 + 9
	codeTrap       = 128 + 6
	codeStartError = 128

	maxMessage = 4 << 10
)

// Options are the options of [New].
type Options struct {
	// Fetch returns the bytes of an image for a pod of the namespace. It is called in goroutines of the engine.
	Fetch func(ctx context.Context, namespace, image string) ([]byte, error)
	// Changed is called when an image is ready or has failed, and when a container has ended. It must not wait.
	Changed func(pod kube.ObjectRef)
	// Memory is the limit of containers without a limit of their own, and the maximum of all, in bytes.
	Memory int64
}

// Engine fetches images, and runs containers until it is closed. It implements [life.Images] and [life.Containers].
// It is safe for concurrent use.
type Engine struct {
	ctx   context.Context //nolint:containedctx // it is the lifetime of the containers
	end   context.CancelFunc
	opts  Options
	tasks sync.WaitGroup

	mu         sync.Mutex // guards the fields below
	containers map[life.ID]*container
	images     map[string]*image // by digest
}

// container is a container with its attempts.
type container struct {
	of       kube.ObjectRef
	pull     *pull    // or nil
	image    *image   // of the last pull, or nil
	current  *attempt // the last one, or nil
	previous *Log     // of the attempt before, or nil
}

// attempt is one run of a container.
type attempt struct {
	state life.State
	log   *Log
	stop  context.CancelFunc // ends the input
	kill  context.CancelFunc
	timer *time.Timer // kills it, or nil
	until time.Time   // when the timer does
}

// New returns an engine. Close it.
func New(o Options) *Engine {
	ctx, end := context.WithCancel(context.Background())
	return &Engine{
		ctx: ctx, end: end, opts: o, containers: make(map[life.ID]*container), images: make(map[string]*image),
	}
}

// Close kills all containers, and waits until they have ended.
func (e *Engine) Close() {
	e.end()
	e.tasks.Wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	for id, c := range e.containers {
		e.release(c.image)
		delete(e.containers, id)
	}
}

// get returns a container, which it creates.
func (e *Engine) get(c life.Container) *container {
	if e.containers[c.ID] == nil {
		e.containers[c.ID] = &container{of: c.Of}
	}
	return e.containers[c.ID]
}

// Start implements [life.Containers].
func (e *Engine) Start(c life.Container) {
	e.mu.Lock()
	defer e.mu.Unlock()
	box := e.get(c)
	if box.image == nil {
		return // the pod has been removed since Pull
	}
	if box.current != nil {
		if box.current.state.Attempt == c.Attempt || box.current.state.Finished.IsZero() {
			return
		}
		box.previous = box.current.log
	}
	ctx, kill := context.WithCancel(e.ctx)
	asked, stop := context.WithCancel(ctx)
	a := &attempt{
		state: life.State{Attempt: c.Attempt, Started: time.Now()}, log: newLog(), stop: stop, kill: kill,
	}
	box.current = a
	img := box.image
	img.users++
	e.tasks.Go(func() {
		defer kill()
		code, reason, message := e.run(ctx, asked, c, img, a.log)
		a.log.end()
		e.mu.Lock()
		a.state.Finished, a.state.Code, a.state.Reason = time.Now(), code, reason
		a.state.Message = message[:min(len(message), maxMessage)]
		if a.timer != nil {
			a.timer.Stop()
		}
		e.release(img)
		e.mu.Unlock()
		e.opts.Changed(c.Of)
	})
}

// State implements [life.Containers].
func (e *Engine) State(id life.ID) (life.State, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if c := e.containers[id]; c != nil && c.current != nil {
		return c.current.state, true
	}
	return life.State{}, false
}

// Stop implements [life.Containers]. WASI preview 1 has no signals: the standard input of the container ends.
func (e *Engine) Stop(id life.ID, grace time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.containers[id]
	if c == nil || c.current == nil || !c.current.state.Finished.IsZero() {
		return
	}
	a, until := c.current, time.Now().Add(grace)
	a.stop()
	switch {
	case a.timer == nil:
		a.timer, a.until = time.AfterFunc(grace, a.kill), until
	case until.Before(a.until): // a second delete may shorten the grace period
		a.timer.Reset(grace)
		a.until = until
	}
}

// Remove kills and forgets the containers of a pod, except those of the pod with the UID.
func (e *Engine) Remove(pod kube.ObjectRef, except types.UID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for id, c := range e.containers {
		if c.of == pod && id.Pod != except {
			if c.current != nil {
				c.current.kill()
			}
			e.release(c.image)
			delete(e.containers, id)
		}
	}
}

// Log returns the log of the last attempt of a container, or of the attempt before, or nil.
func (e *Engine) Log(pod kube.ObjectRef, name string, previous bool) *Log {
	e.mu.Lock()
	defer e.mu.Unlock()
	for id, c := range e.containers {
		switch {
		case c.of != pod || id.Name != name || c.current == nil:
		case previous:
			return c.previous
		default:
			return c.current.log
		}
	}
	return nil
}

// run runs a module until it ends, and returns its exit code and why it has ended. Its input ends with asked.
func (e *Engine) run(
	ctx, asked context.Context, c life.Container, img *image, log *Log,
) (code int32, reason, message string) {
	memory := e.opts.Memory
	if c.Memory > 0 {
		memory = min(memory, c.Memory)
	}
	r := e.runtime(img, memory)
	defer r.Close(context.WithoutCancel(ctx)) //nolint:errcheck // there is nothing to do
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, r); err != nil {
		return codeStartError, "StartError", err.Error()
	}
	compiled, err := r.CompileModule(ctx, img.code)
	if err != nil {
		return codeStartError, "StartError", err.Error()
	}
	out, errOut := log.stream(), log.stream()
	defer out.flush()
	defer errOut.flush()
	config := wazero.NewModuleConfig().WithName("").WithArgs(c.Args...).
		WithStdin(readerFunc(func([]byte) (int, error) {
			<-asked.Done()
			return 0, io.EOF
		})).
		WithStdout(out).WithStderr(errOut).
		WithSysWalltime().WithSysNanotime().WithRandSource(rand.Reader).
		WithNanosleep(func(ns int64) {
			timer := time.NewTimer(time.Duration(ns))
			defer timer.Stop()
			select {
			case <-timer.C:
			case <-ctx.Done():
			}
		})
	for _, variable := range c.Env {
		name, value, _ := strings.Cut(variable, "=")
		config = config.WithEnv(name, value)
	}
	_, err = r.InstantiateModule(ctx, compiled, config)
	var exit *sys.ExitError
	switch {
	case ctx.Err() != nil:
		return codeKilled, "Error", "it was killed"
	case err == nil:
	case !errors.As(err, &exit):
		return codeTrap, "Error", err.Error()
	case exit.ExitCode() != 0:
		return int32(exit.ExitCode() & 0xff), "Error", ""
	}
	return 0, "Completed", ""
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

var (
	_ life.Images     = (*Engine)(nil)
	_ life.Containers = (*Engine)(nil)
)
