// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
)

// Comparison is what [Compare] has found.
type Comparison struct {
	Calls       int // of the recording
	Same        int // writes, and results of reconciles, that are those of the recording
	Differences []Difference
}

// Difference is a write, or the result of a reconcile, that is not that of the recording. It may contain what the module
// writes, such as the data of secrets.
type Difference struct {
	Subject  string // such as "PATCH /api/v1/namespaces/apps/configmaps/hello?…"
	Recorded []byte // the recorded body; nil if the recording does not have it, or it is empty
	Now      []byte // the body of the module; nil if the module has not sent it, or it is empty
}

func (d Difference) equal(other Difference) bool {
	return d.Subject == other.Subject && bytes.Equal(d.Recorded, other.Recorded) && bytes.Equal(d.Now, other.Now)
}

// Compare runs a module with a recording of [Module.Record], such as one of the version before, and compares what it
// writes. Nothing is sent to a server: a request gets the recorded response to the same request, and the time is that of
// the recording. A request that the recording does not have fails as if the server could not be reached, and is a
// difference. Of the options, only CompilationDir is used.
func Compare(ctx context.Context, binary []byte, recording io.Reader, o *Options) (found *Comparison, err error) {
	s, err := readScript(recording)
	if err != nil {
		return nil, err
	}
	g, end, err := isolated(ctx, binary, s.cover, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, end()) }()
	g.closed = true // the trial calls it, not turns
	g.trial = newTrial(s, g)
	i, err := g.host.newInstance(g, nil)
	if err != nil {
		return nil, err
	}
	defer i.end(context.Canceled)
	g.instance = i
	if err := g.trial.run(i); err != nil {
		return nil, err
	}
	return &g.trial.found, nil
}

// isolated returns a guest of a host that has no server, and holds its only place.
func isolated(ctx context.Context, binary []byte, c cover, o *Options) (g *guest, end func() error, err error) {
	h := &Host{slots: make(chan struct{}, 1), programs: make(map[string]*program)}
	h.options.Logger = slog.New(slog.DiscardHandler)
	if o != nil {
		h.options.CompilationDir = o.CompilationDir
	}
	h.ctx, h.end = context.WithCancel(ctx)
	if err := h.newRuntime(); err != nil {
		h.end()
		return nil, nil, err
	}
	closed := func() error {
		h.end()
		return h.runtime.Close(context.WithoutCancel(ctx))
	}
	m := Module{Name: c.Name, Args: c.Args, Env: c.Env, Limits: Limits{MemoryBytes: c.Memory}}
	if err := m.Limits.setDefaults(); err != nil {
		return nil, nil, errors.Join(err, closed())
	}
	digest := digestOf(binary)
	g = h.newGuest(m, digest)
	if g.program, err = h.program(ctx, digest, binary); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("module: %w", err), closed())
	}
	h.acquire()
	return g, func() error {
		h.release()
		h.leave(ctx, digest, g.program)
		return closed()
	}, nil
}
