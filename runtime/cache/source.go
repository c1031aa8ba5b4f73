// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !wasip1

package cache

import (
	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/watcher"
)

// sourceOf returns the objects of a client's server. Protobuf is the smallest form; for other kinds than built-in ones,
// the server responds in JSON.
func sourceOf(c *client.Client) func(core.Resource, string) watcher.Source {
	return func(res core.Resource, namespace string) watcher.Source {
		return client.NewFeed(c, res, namespace).PreferEncoding(wire.Protobuf)
	}
}

// checkOptions returns the error of an option that can't be used on this platform.
func checkOptions(*Options) error { return nil }
