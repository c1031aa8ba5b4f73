// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"errors"
	"slices"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/guest"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/abi"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/internal/hosted"
	"github.com/kube-go/sdk/runtime/watcher"
)

// sourceOf returns the objects of the host's watches, which all its modules share. The host has a single server, so the
// client does not matter.
func sourceOf(*client.Client) func(core.Resource, string) watcher.Source {
	return func(res core.Resource, namespace string) watcher.Source {
		s, err := guest.Startup()
		return hosted.NewSource(host{}, res, namespace, err == nil && slices.Contains(s.Features, abi.FeatureSeen))
	}
}

// checkOptions returns the error of an option that can't be used on this platform.
func checkOptions(o *Options) error {
	if o.SnapshotDir != "" {
		return errors.New("cache.Options.SnapshotDir: a module has no files, and its host keeps the objects: clear it")
	}
	return nil
}

// host is the host of this guest.
type host struct{}

func (host) Watch(w *abi.Watch) (hosted.Stream, error) {
	message, err := wire.MarshalJSON(w)
	if err != nil {
		return nil, err
	}
	s, err := guest.Submit(abi.OpWatch, message)
	if err != nil {
		return nil, err
	}
	return stream{s}, nil
}

func (host) Get(dst []byte, g *abi.Get) ([]byte, error) { return guest.Call(dst, abi.OpGet, g) }

// stream is the items of a watch.
type stream struct{ guest.Stream }

func (s stream) Next(ctx context.Context) ([]byte, abi.Flags, error) {
	item, err := s.Stream.Next(ctx)
	return item.Data, item.Flags, err
}
