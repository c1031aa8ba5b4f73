// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"log/slog"
)

// Logger returns the logger of a run, for the context of its reconcile or of a function of [Secondary.Map]: the records
// have the name of the controller, the kind and the object, and the cluster if it has a name. For other contexts it
// returns [slog.Default].
func Logger(ctx context.Context) *slog.Logger {
	r, ok := ctx.Value(runKey{}).(*run)
	if !ok {
		return slog.Default()
	}
	var args []any
	for _, attr := range r.item.Key.attrs(r.worker.kind) {
		args = append(args, attr)
	}
	return r.worker.logger.With(args...)
}
