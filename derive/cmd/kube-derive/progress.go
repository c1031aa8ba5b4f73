// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/kube-go/sdk/derive/generate"
)

// progress reports the steps of a run that takes longer than a user likes to wait. On a terminal, one line is written
// again for each step; elsewhere, each step has its own line.
type progress struct {
	w        io.Writer
	patience time.Duration
	live     bool // w is a terminal
	start    time.Time

	mu   sync.Mutex // guards what follows, and w until the end
	step string

	stop chan struct{}
	wg   sync.WaitGroup
}

func newProgress(std streams, live bool) *progress {
	p := &progress{w: std.err, patience: std.patience, live: live, start: time.Now(), step: "loading packages", stop: make(chan struct{})}
	if live {
		p.wg.Go(p.tick)
	}
	return p
}

// tick rewrites the line until the end, and then removes it.
func (p *progress) tick() {
	ticker := time.NewTicker(p.patience)
	defer ticker.Stop()
	for shown := false; ; shown = true {
		select {
		case <-p.stop:
			if shown {
				fmt.Fprint(p.w, "\r\x1b[K")
			}
			return
		case <-ticker.C:
			p.mu.Lock()
			fmt.Fprintf(p.w, "\r\x1b[Kkube-derive: %s, %.0f s", p.step, time.Since(p.start).Seconds())
			p.mu.Unlock()
		}
	}
}

// loaded is called when the packages have been read.
func (p *progress) loaded(packages int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.step = fmt.Sprintf("describing %s", plural(packages, "package"))
	if took := time.Since(p.start); !p.live && took >= p.patience {
		fmt.Fprintf(p.w, "kube-derive: loaded %s in %.1f s\n", plural(packages, "package"), took.Seconds())
	}
}

// end stops what is under way. It is called once, and nothing is written after it.
func (p *progress) end() {
	close(p.stop)
	p.wg.Wait()
}

// summary says what a run was about if it took long.
func (p *progress) summary(files *generate.Files) {
	if took := time.Since(p.start); took >= p.patience {
		fmt.Fprintf(p.w, "kube-derive: %s, %s, %s in %.1f s\n",
			plural(files.Packages, "package"), plural(files.Kinds, "kind"), plural(len(files.Files), "file"), took.Seconds())
	}
}

// isTerminal reports whether somebody may look at what is written.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
