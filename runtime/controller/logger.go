// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"log/slog"
)

// Logger returns the logger of a run, for the context of its reconcile or of a function of [Secondary.Map]: the records
// have the name of the controller, the kind and the object, the cluster if it has a name, the first cause of the run,
// and the number of other causes. For other contexts it returns [slog.Default].
func Logger(ctx context.Context) *slog.Logger {
	r, ok := ctx.Value(runKey{}).(*run)
	if !ok {
		return slog.Default()
	}
	var args []any
	for _, attr := range append(r.item.Key.attrs(r.worker.kind), runOf(r.item).causeAttrs()...) {
		args = append(args, attr)
	}
	return r.worker.logger.With(args...)
}
