// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
)

// runChild runs one trial, and writes its results.
func runChild(ctx context.Context, f *flags, in io.Reader, out io.Writer) error {
	t, err := findTrial(f.trial)
	if err != nil {
		return err
	}
	c := &pipes{in: bufio.NewReader(in), out: json.NewEncoder(out)}
	e := &env{size: f.size, url: f.server, control: c, profile: func() error { return nil }}
	e.objects = t.objects(e.objects)
	if f.profile != "" {
		e.profile = func() error { return writeProfile(f.profile, t.name) }
	}
	v, err := t.run(ctx, e)
	if err != nil {
		return err
	}
	c.send(message{Values: v})
	return c.err
}

func writeProfile(folder, trial string) error {
	file, err := os.Create(filepath.Join(folder, strings.ReplaceAll(trial, "/", "-")+".pprof"))
	if err != nil {
		return err
	}
	defer file.Close()
	return pprof.Lookup("heap").WriteTo(file, 0)
}

// pipes is the control of a child process.
type pipes struct {
	mu  sync.Mutex // guards the fields below
	in  *bufio.Reader
	out *json.Encoder
	err error // of the first failure
}

func (p *pipes) send(m message) {
	if err := p.out.Encode(m); err != nil && p.err == nil {
		p.err = fmt.Errorf("write to the parent process: %w", err)
	}
}

// Touch implements control.
func (p *pipes) Touch(plural string, i int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.send(message{Touch: plural, Index: i})
}

// Watches implements control.
func (p *pipes) Watches(plural string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.send(message{Watches: plural})
	line, err := p.in.ReadString('\n')
	n, parsing := strconv.Atoi(strings.TrimSpace(line))
	if err == nil {
		err = parsing
	}
	if err != nil && p.err == nil {
		p.err = fmt.Errorf("read from the parent process: %w", err)
	}
	return n
}
