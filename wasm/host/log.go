// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"io"
	"log/slog"
	"strings"
)

// log writes a log record of the guest, unless it writes too many.
func (i *instance) log(level slog.Level, text []byte) {
	i.tape.output(frameLog, append([]byte(level.String()+" "), text...))
	g := i.guest
	if !g.logs.Allow() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.stats.Dropped++
		return
	}
	g.logger.LogAttrs(context.WithoutCancel(i.ctx), level, strings.ToValidUTF8(string(text), "\uFFFD"))
}

// lines logs what a guest writes to its standard output and standard error, line by line.
type lines struct {
	instance *instance
	line     []byte
}

var _ io.Writer = (*lines)(nil)

// Write logs the complete lines.
func (l *lines) Write(p []byte) (int, error) {
	for _, c := range p {
		if c != '\n' {
			l.line = append(l.line, c)
		}
		if c != '\n' && len(l.line) < logBytes {
			continue
		}
		if len(l.line) > 0 {
			l.instance.log(slog.LevelInfo, l.line)
		}
		l.line = l.line[:0]
	}
	return len(p), nil
}
