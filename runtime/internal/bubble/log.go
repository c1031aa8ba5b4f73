// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package bubble

import (
	"context"
	"log/slog"
	"time"
)

// BlockingLog returns a logger that blocks at one message, as at a full pipe, until a channel is closed or a minute has
// passed. It discards all messages.
func BlockingLog(message string, until <-chan struct{}) *slog.Logger {
	return slog.New(blocking{slog.DiscardHandler, message, until})
}

type blocking struct {
	slog.Handler

	message string
	until   <-chan struct{}
}

func (blocking) Enabled(context.Context, slog.Level) bool { return true }

func (h blocking) WithAttrs([]slog.Attr) slog.Handler { return h }

func (h blocking) Handle(_ context.Context, r slog.Record) error {
	if r.Message == h.message {
		select {
		case <-h.until:
		case <-time.After(time.Minute):
		}
	}
	return nil
}
