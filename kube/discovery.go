// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"

	"k8s.io/apimachinery/pkg/version"

	"github.com/kube-go/sdk/client/access"
	"github.com/kube-go/sdk/client/discovery"
)

// Finding kinds at run time.
type (
	// Discovery is what a server serves, see [discovery.Discovery].
	Discovery = discovery.Discovery
	// DiscoveryOptions are the options of [Discover], and of each discovery of a [Mapper], see [discovery.Options].
	DiscoveryOptions = discovery.Options
	// DiscoveryCache keeps what servers say of themselves, see [discovery.Cache].
	DiscoveryCache = discovery.Cache
	// DiscoveryCacheOptions are the options of [NewDiscoveryCache], see [discovery.CacheOptions].
	DiscoveryCacheOptions = discovery.CacheOptions
	// APISubresource is a part of a resource as a server describes it, see [discovery.Subresource].
	APISubresource = discovery.Subresource
	// Mapper finds resources while kinds are installed, see [discovery.Mapper].
	Mapper = discovery.Mapper
	// MapperOptions are the options of [NewMapper], see [discovery.MapperOptions].
	MapperOptions = discovery.MapperOptions
	// GroupError says that one group version could not be discovered, see [discovery.GroupError].
	GroupError = discovery.GroupError
	// UnknownResourceError says that a name fits nothing the server has, see [discovery.UnknownResourceError].
	UnknownResourceError = discovery.UnknownResourceError
	// UnknownCategoryError says that no resource is of a category, see [discovery.UnknownCategoryError].
	UnknownCategoryError = discovery.UnknownCategoryError
)

// ErrStale says that what is known of a group version may be old, see [discovery.ErrStale].
var ErrStale = discovery.ErrStale

// Discover asks a server for all it serves, see [discovery.Discover].
func Discover(ctx context.Context, c *Client, o *DiscoveryOptions) (*Discovery, error) {
	return discovery.Discover(ctx, c, o)
}

// NewMapper returns what finds resources by name, by kind or by object, and discovers again when it misses one, see
// [discovery.NewMapper].
func NewMapper(c *Client, o *MapperOptions) *Mapper { return discovery.NewMapper(c, o) }

// NewDiscoveryCache returns a cache of what servers say of themselves, see [discovery.NewCache].
func NewDiscoveryCache(o *DiscoveryCacheOptions) *DiscoveryCache { return discovery.NewCache(o) }

// What a server says of its kinds, of itself, and of us.
type (
	// OpenAPI is the index of a server's OpenAPI v3 documents, see [discovery.OpenAPI].
	OpenAPI = discovery.OpenAPI
	// OpenAPIDocument is one of them, see [discovery.Document].
	OpenAPIDocument = discovery.Document
	// OpenAPISchema is what a value may be, see [discovery.Schema].
	OpenAPISchema = discovery.Schema
	// HealthReport is what a server says about its health, see [discovery.HealthReport].
	HealthReport = discovery.HealthReport
	// HealthCheck is one of the things that a server looks at, see [discovery.HealthCheck].
	HealthCheck = discovery.HealthCheck
	// HealthOptions are the options of [Health], see [discovery.HealthOptions].
	HealthOptions = discovery.HealthOptions
	// Probe is what a server can be asked about its health, see [discovery.Probe].
	Probe = discovery.Probe
	// ServerVersionOptions are the options of [ServerVersion], see [discovery.VersionOptions].
	ServerVersionOptions = discovery.VersionOptions
	// AccessAction is what one would like to do, see [access.Action].
	AccessAction = access.Action
	// AccessDecision is whether one may, see [access.Decision].
	AccessDecision = access.Decision
	// AccessOptions are the options of [Can], see [access.Options].
	AccessOptions = access.Options
	// Identity is who a server takes somebody for, see [access.Identity].
	Identity = access.Identity
	// WhoAmIOptions are the options of [WhoAmI], see [access.WhoAmIOptions].
	WhoAmIOptions = access.WhoAmIOptions
)

// The probes of [Health].
const (
	ProbeReady = discovery.Ready
	ProbeLive  = discovery.Live
)

// FetchOpenAPI fetches the index of a server's OpenAPI v3 documents, see [discovery.FetchOpenAPI].
func FetchOpenAPI(ctx context.Context, c *Client, o *DiscoveryOptions) (*OpenAPI, error) {
	return discovery.FetchOpenAPI(ctx, c, o)
}

// ServerVersion asks a server for its version, see [discovery.Version].
func ServerVersion(ctx context.Context, c *Client, o *ServerVersionOptions) (*version.Info, error) {
	return discovery.Version(ctx, c, o)
}

// Health asks a server how it is, see [discovery.Health].
func Health(ctx context.Context, c *Client, p Probe, o *HealthOptions) (*HealthReport, error) {
	return discovery.Health(ctx, c, p, o)
}

// Can asks a server whether one may do something, see [access.Can].
func Can(ctx context.Context, c *Client, a AccessAction, o *AccessOptions) (*AccessDecision, error) {
	return access.Can(ctx, c, a, o)
}

// WhoAmI asks a server whom it takes one for, see [access.WhoAmI].
func WhoAmI(ctx context.Context, c *Client, o *WhoAmIOptions) (*Identity, error) {
	return access.WhoAmI(ctx, c, o)
}
