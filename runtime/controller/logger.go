// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"log/slog"

	"github.com/kube-go/sdk/core"
)

// Logger returns the logger of a run, for the context of its reconcile: the records have the name of the controller,
// the kind and the object. For other contexts it returns [slog.Default].
func Logger(ctx context.Context) *slog.Logger {
	run, ok := ctx.Value(runKey{}).(*runContext)
	if !ok {
		return slog.Default()
	}
	return run.logger.With("kind", run.kind, "object", run.ref.String())
}

type runKey struct{}

// runContext is the context of a run. It makes the logger of the run only on demand, since most runs log nothing.
type runContext struct {
	context.Context //nolint:containedctx // it is a context
	logger          *slog.Logger
	kind            string
	ref             core.ObjectRef
}

// Value returns the context itself for runKey.
func (c *runContext) Value(key any) any {
	if key == (runKey{}) {
		return c
	}
	return c.Context.Value(key)
}
