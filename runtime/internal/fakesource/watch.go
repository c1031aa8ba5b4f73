// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package fakesource

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
)

var errBreak = errors.New("break")

// watch is one open watch.
type watch struct {
	server   *Server
	timeout  time.Duration
	initial  []change
	end      <-chan time.Time // when to send the end of a streaming list, if that is not in initial
	position uint64           // the last version that was sent
	cut      chan struct{}
}

// run sends events until the watch ends.
func (w *watch) run(ctx context.Context, yield func(wire.Event, error) bool) error {
	send := func(c change) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return lend(c.object, func(p wire.Packed) error {
			if !yield(wire.Event{Type: c.kind, Object: p}, nil) {
				return errBreak
			}
			return nil
		})
	}
	for _, c := range w.initial {
		if pace := w.server.behaves().Pace; pace > 0 {
			select {
			case <-time.After(pace):
			case <-ctx.Done():
			}
		}
		if err := send(c); err != nil {
			return err
		}
	}
	timeout := time.NewTimer(w.timeout)
	defer timeout.Stop()
	for {
		changes, changed := w.next()
		for _, c := range changes {
			if w.server.behaves().DropOnCut && isClosed(w.cut) {
				return w.server.cutError()
			}
			if err := send(c); err != nil {
				return err
			}
			w.position = max(w.position, c.version)
		}
		if len(changes) > 0 {
			select {
			case <-w.end: // which a reader that is slower than the changes receives, too
				if err := send(w.bookmark(true)); err != nil {
					return err
				}
			default:
			}
			continue
		}
		bookmarks := w.server.behaves().Bookmarks
		bookmark, stop := ticker(bookmarks)
		select {
		case <-changed:
		case <-bookmark:
			if err := send(w.bookmark(false)); err != nil {
				return err
			}
		case <-w.end:
			if err := send(w.bookmark(true)); err != nil {
				return err
			}
		case <-timeout.C:
			stop()
			if bookmarks > 0 {
				return send(w.bookmark(false))
			}
			return nil
		case <-w.cut:
			stop()
			return w.server.cutError()
		case <-ctx.Done():
			stop()
			return context.Cause(ctx)
		}
		stop()
	}
}

func isClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

// next returns the changes after the position, and a channel that is closed when there are more.
func (w *watch) next() ([]change, <-chan struct{}) {
	s := w.server
	s.mu.Lock()
	defer s.mu.Unlock()
	var changes []change
	for _, c := range s.log {
		if c.version > w.position {
			changes = append(changes, c)
		}
	}
	return changes, s.changed
}

func ticker(d time.Duration) (<-chan time.Time, func()) {
	if d <= 0 {
		return nil, func() {}
	}
	t := time.NewTimer(d)
	return t.C, func() { t.Stop() }
}

// bookmark returns a bookmark with the newest version, or with the last sent one if there are changes to send.
func (w *watch) bookmark(end bool) change {
	s := w.server
	s.mu.Lock()
	defer s.mu.Unlock()
	version := s.version
	if n := len(s.log); n > 0 && s.log[n-1].version > w.position {
		version = w.position
	}
	return change{version, core.Bookmark, s.bookmark(version, end)}
}

func (s *Server) cutError() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cutErr
}

// lend passes on a copy of an object and overwrites it afterwards, since its bytes are only valid until then.
func lend(p wire.Packed, to func(wire.Packed) error) error {
	data := bytes.Clone(p.Bytes())
	defer func() {
		for i := range data {
			data[i] = '!'
		}
	}()
	return to(wire.NewPacked(p.Encoding(), data))
}
