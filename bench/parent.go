// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"time"

	"github.com/kube-go/sdk/bench/internal/replay"
)

// results are the values of all runs of each trial, by the name of the trial.
type results map[string][]values

// complete reports whether each trial of some figures has run.
func (r results) complete(figures []*figure) bool {
	for _, t := range trialsOf(figures) {
		if len(r[t.name]) == 0 {
			return false
		}
	}
	return true
}

// runTrials runs the trials in turn, and in reverse order every other time. It stops at the first failure, and then
// returns the results so far, too.
func runTrials(ctx context.Context, f *flags, trials []*trial) (results, error) {
	bySize := map[int][]*replay.Collection{} // so that a large trial does not make the others encode its objects
	for _, t := range trials {
		n := max(f.size.objects, t.fixed)
		if bySize[n] != nil {
			continue
		}
		var err error
		if bySize[n], err = collections(n); err != nil {
			return nil, err
		}
	}
	order, got := slices.Clone(trials), results{}
	for round := range f.repeat {
		fmt.Fprintf(os.Stderr, "round %d of %d with %d cases\n", round+1, f.repeat, len(order))
		for _, t := range order {
			if t.rounds > 0 && round >= t.rounds {
				continue
			}
			v, err := runProcess(ctx, f, t, bySize[max(f.size.objects, t.fixed)])
			if err != nil {
				return got, fmt.Errorf("case %s: %w", t.name, err)
			}
			got[t.name] = append(got[t.name], v)
		}
		slices.Reverse(order)
	}
	return got, nil
}

// trialTimeout is much longer than any trial takes.
const trialTimeout = 5 * time.Minute

// runProcess runs a trial in a new process, with its own server.
func runProcess(ctx context.Context, f *flags, t *trial, all []*replay.Collection) (values, error) {
	ctx, cancel := context.WithTimeout(ctx, trialTimeout)
	defer cancel()
	server, url, stop, err := serve(t, f.size, all)
	if err != nil {
		return nil, err
	}
	defer stop()
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, "-trial", t.name, "-server", url, "-n", strconv.Itoa(f.size.objects),
		"-time", f.size.time.String(), "-profile", f.profile)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	v, err := converse(server, in, out)
	return v, errors.Join(err, cmd.Wait())
}

// serve starts the server of a trial.
func serve(t *trial, n size, all []*replay.Collection) (s *replay.Server, url string, stop func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", nil, err
	}
	o := t.server
	o.Collections, o.Limit = all, t.objects(n.objects)
	s = replay.New(&o)
	handler := http.Handler(s)
	if t.stores != nil {
		if handler, err = t.stores(o.Limit); err != nil {
			return nil, "", nil, errors.Join(err, listener.Close())
		}
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(listener) // it ends with Close
	}()
	return s, "http://" + listener.Addr().String(), func() {
		_ = server.Close()
		<-ended
	}, nil
}

// message is what a child process writes as a line. One of its fields is set.
type message struct {
	Touch   string `json:"touch,omitempty"` // the resource of object Index
	Index   int    `json:"index,omitempty"`
	Watches string `json:"watches,omitempty"` // the resource; the response is a number
	Values  values `json:"values,omitempty"`  // the results
}

// converse serves the requests of a child process until it sends its results.
func converse(s *replay.Server, in io.Writer, out io.Reader) (values, error) {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var m message
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			return nil, fmt.Errorf("unexpected output %q: %w", lines.Text(), err)
		}
		switch {
		case m.Touch != "":
			s.Touch(m.Touch, m.Index)
		case m.Watches != "":
			if _, err := fmt.Fprintln(in, s.Watches(m.Watches)); err != nil {
				return nil, err
			}
		default:
			return m.Values, nil
		}
	}
	return nil, errors.Join(errors.New("the process has sent no results"), lines.Err())
}
