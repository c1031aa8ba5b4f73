// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/kube-go/sdk/core"
)

// Key identifies a reconciled object.
type Key struct {
	// Cluster is the name of the object's cluster, see [cache.Options.Cluster]. It is empty in programs that use one
	// cluster.
	Cluster string

	Ref core.ObjectRef
}

// String returns "prod/web", or "eu:prod/web" if the cluster has a name.
func (k Key) String() string {
	if k.Cluster == "" {
		return k.Ref.String()
	}
	return k.Cluster + ":" + k.Ref.String()
}

// attrs returns the attributes of a log record that concerns an object of a kind. The cluster is an attribute only if
// it has a name.
func (k Key) attrs(kind string) []slog.Attr {
	attrs := make([]slog.Attr, 0, 8)
	if k.Cluster != "" {
		attrs = append(attrs, slog.String("cluster", k.Cluster))
	}
	return append(attrs, slog.String("kind", kind), slog.String("object", k.Ref.String()))
}

// check returns why a key is invalid for a kind, or nil.
func (k Key) check(res core.Resource) error {
	if err := res.CheckRef(k.Ref); err != nil {
		return fmt.Errorf("%s %s: %w", res, k, err)
	}
	return nil
}

// describe returns the attributes of a log record for an error of one object.
func describe(kind string, key Key, err error) []slog.Attr {
	return append(key.attrs(kind), errorAttrs(err)...)
}

// errorAttrs returns the attributes of a log record for an error: the stack of a panic, too.
func errorAttrs(err error) []slog.Attr {
	attrs := []slog.Attr{slog.Any("err", err)}
	if p, ok := errors.AsType[*PanicError](err); ok {
		attrs = append(attrs, slog.String("stack", string(p.Stack)))
	}
	return attrs
}
