// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"

	"github.com/kube-go/sdk/client/discovery"
)

// Finding kinds at run time.
type (
	// Discovery has the kinds that a server served at one moment. Methods: Resolve (a name such as "deploy"), ForKind,
	// ForResource, ResolveCategory, Categories, Resources, Preferred, Matches, Subresources, Failed. See
	// [discovery.Discovery].
	Discovery = discovery.Discovery
	// Mapper finds kinds while they are installed and removed: it discovers again when a kind is missing, and when the
	// last discovery is older than five minutes. Methods: Resolve, ForKind, ForResource, ForObject, Dynamic, Discovery,
	// Refresh. See [discovery.Mapper].
	Mapper = discovery.Mapper
	// UnknownResourceError says that a server has no resource of a name: Name, Nearby (similar names), IsCategory,
	// Failed. It is not [ErrNotFound]. See [discovery.UnknownResourceError].
	UnknownResourceError = discovery.UnknownResourceError
)

// Discover asks a server for the kinds that it serves. See [discovery.Discover].
func Discover(ctx context.Context, c *Client, o *discovery.Options) (*Discovery, error) {
	return discovery.Discover(ctx, c, o)
}

// NewMapper returns a [Mapper]. See [discovery.NewMapper].
func NewMapper(c *Client, o *discovery.MapperOptions) *Mapper { return discovery.NewMapper(c, o) }
