// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"

	"github.com/kube-go/sdk/core"
)

// log writes a log record of the guest, unless it writes too many.
func (i *instance) log(level slog.Level, text []byte) {
	i.tape.output(frameLog, append([]byte(level.String()+" "), text...))
	if g := i.guest; g.mayLog() {
		g.logger.LogAttrs(context.WithoutCancel(i.ctx), level, strings.ToValidUTF8(string(text), "\uFFFD"))
	}
}

// mayLog reports whether the limit allows another log record of the guest, and counts a record that is dropped.
func (g *guest) mayLog() bool {
	if g.logs.Allow() {
		return true
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stats.Dropped++
	return false
}

// limitedLogger returns a logger for records of the host that a guest causes, such as those about failed runs.
func (g *guest) limitedLogger() *slog.Logger { return slog.New(&limitedHandler{g.logger.Handler(), g}) }

// limitedHandler handles the records of a limitedLogger. The limit of the log records of the guest includes them.
type limitedHandler struct {
	slog.Handler

	guest *guest
}

func (h *limitedHandler) Handle(ctx context.Context, r slog.Record) error {
	if !h.guest.mayLog() {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

func (h *limitedHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &limitedHandler{h.Handler.WithAttrs(attrs), h.guest}
}

func (h *limitedHandler) WithGroup(name string) slog.Handler {
	return &limitedHandler{h.Handler.WithGroup(name), h.guest}
}

// maxErrorBytes is the maximum length of an error that may have text of a guest.
const maxErrorBytes = 4 << 10

// shorten returns an error with the beginning of the text of a long one, which it does not keep in memory. It keeps
// what the controller reads: the response of the server, and whether the error is terminal.
func shorten(err error) error {
	text := err.Error()
	if len(text) <= maxErrorBytes {
		return err
	}
	short := &shortError{text: strings.ToValidUTF8(strings.Clone(text[:maxErrorBytes]), "\uFFFD") + "…"}
	if status, ok := errors.AsType[*core.StatusError](err); ok {
		short.err = status
	}
	if core.IsTerminal(err) {
		return core.Terminal(short)
	}
	return short
}

// shortError is an error whose text was cut off.
type shortError struct {
	text string
	err  error // the response of the server, or nil
}

func (e *shortError) Error() string { return e.text }

func (e *shortError) Unwrap() error { return e.err }

// print logs what a guest writes to its standard output and standard error, line by line.
func (i *instance) print(p []byte) {
	for len(p) > 0 {
		end := bytes.IndexByte(p, '\n')
		part := p
		if end >= 0 {
			part = p[:end]
		}
		part = part[:min(len(part), logBytes-len(i.output))]
		i.output = append(i.output, part...)
		p = p[len(part):]
		if complete := len(p) > 0 && p[0] == '\n'; complete {
			p = p[1:]
		} else if len(i.output) < logBytes {
			return
		}
		if len(i.output) > 0 {
			i.log(slog.LevelInfo, i.output)
		}
		i.output = i.output[:0]
	}
}
