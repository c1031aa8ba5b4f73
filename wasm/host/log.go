// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bytes"
	"context"
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
