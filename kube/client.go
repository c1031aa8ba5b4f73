// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
)

// Connecting to a server.
type (
	// Client connects to one API server with one identity. It is safe for concurrent use. [NewClient] returns one.
	// Methods: Server, Namespace, Config, Reconnect, CloseIdleConnections, and Do, Upgrade and RoundTrip for requests
	// that no API has. See [client.Client].
	Client = client.Client
	// ClientOptions are the options of [NewClient]: Context (of the kubeconfig) or Config, FieldManager, UserAgent,
	// Logger, Middleware, PerAttempt, Retry, RateLimit, OnWarning, ResponseHeaderTimeout, StreamBufferBytes, Limits,
	// Transport, Share, Plugin. See [client.Options].
	ClientOptions = client.Options
	// Config has the address of a server and the credentials: Server, Namespace, CAFile or CAData, ClientCertFile,
	// ClientKeyFile, BearerToken, BearerTokenFile, Exec, Impersonate, ProxyURL and more. [LoadConfig] returns one, and
	// programs can also fill one in. See [config.Config].
	Config = config.Config
	// ConfigOptions are the options of [LoadConfig]: Path of the kubeconfig, Context, Cluster, User, Namespace, and
	// Override for single fields. See [config.Options].
	ConfigOptions = config.Options
	// Secret is a string that prints as a placeholder, for tokens and passwords in a [Config]. See [config.Secret].
	Secret = config.Secret
	// Middleware wraps an http.RoundTripper in another one, for ClientOptions.Middleware and PerAttempt. See
	// [middleware.Func].
	Middleware = middleware.Func
	// RetryOptions are the options for retries of failed requests: MaxAttempts, MaxElapsedTime, InitialBackoff,
	// MaxBackoff, Budget, OnRetry and more. See [middleware.RetryOptions].
	RetryOptions = middleware.RetryOptions
	// RateLimitOptions limit the rate of requests: PerSecond, Burst, OnWait. See [middleware.RateLimitOptions].
	RateLimitOptions = middleware.RateLimitOptions
	// Warning is a warning header of the server, for example about a deprecated API: Code, Agent, Text. See
	// [middleware.Warning].
	Warning = middleware.Warning
)

// NewClient returns a client. By default it uses the current context of the kubeconfig or, in a pod, the service
// account. ClientOptions.Context chooses another context. NewClient reads files, but sends no request. See
// [client.New].
func NewClient(ctx context.Context, o *ClientOptions) (*Client, error) { return client.New(ctx, o) }

// LoadConfig reads the configuration of a client, so that a program can change it before [NewClient]. See
// [config.Load].
func LoadConfig(ctx context.Context, o *ConfigOptions) (*Config, error) { return config.Load(ctx, o) }

// API reads and writes the objects of one kind, in one namespace or in the whole cluster. [Namespaced], [ClusterWide],
// [APIOf] and [Dynamic] return one. Methods:
//
//   - read: Get, GetOrNil, List, All (every page), WatchOnce (one request; [Watch] recovers), Metadata, Rows
//   - write: Create, Update, Patch, Apply, Delete, DeleteCollection
//   - read and write: Modify, CreateOrUpdate, Entry
//   - subresources: Status, Scale, Subresource
//   - settings: In (another namespace), PreferEncoding, OnItemError, and the getters Client, Resource and Namespace
//   - Feed, which caches and watchers read
//
// See [client.API].
type API[K any] = client.API[K]

// Namespaced returns the API of a namespaced kind in one namespace. See [client.Namespaced].
func Namespaced[K any, P core.ObjectPtr[K]](c *Client, namespace string) *API[K] {
	return client.Namespaced[K, P](c, namespace)
}

// ClusterWide returns the API of a cluster-scoped kind, or of a namespaced kind in all namespaces. See
// [client.ClusterWide].
func ClusterWide[K any, P core.ObjectPtr[K]](c *Client) *API[K] { return client.ClusterWide[K, P](c) }

// APIOf returns the API of an explicit resource in the whole cluster, for a Go type whose resource is not known. The
// method In limits it to one namespace. See [client.Of].
func APIOf[K any, P core.ObjectPtr[K]](c *Client, res Resource) *API[K] {
	return client.Of[K, P](c, res)
}

// Dynamic returns the API of a resource that is known only at run time, in the whole cluster. The method In limits it
// to one namespace. See [client.Dynamic].
func Dynamic(c *Client, res Resource) *API[unstructured.Unstructured] { return client.Dynamic(c, res) }

// Options of the methods of an API. They may be nil.
type (
	// GetOptions are the options of Get: ResourceVersion. See [request.GetOptions].
	GetOptions = request.GetOptions
	// ListOptions are the options of List, All and DeleteCollection: LabelSelector, FieldSelector, Limit, Continue,
	// ResourceVersion, ResourceVersionMatch, Timeout, ShardSelector, OmitManagedFields. See [request.ListOptions].
	ListOptions = request.ListOptions
	// CreateOptions are the options of Create: DryRun, FieldManager, FieldValidation. See [request.CreateOptions].
	CreateOptions = request.CreateOptions
	// UpdateOptions are the options of Update: DryRun, FieldManager, FieldValidation. See [request.UpdateOptions].
	UpdateOptions = request.UpdateOptions
	// PatchOptions are the options of Patch: DryRun, FieldManager, FieldValidation. See [request.PatchOptions].
	PatchOptions = request.PatchOptions
	// ApplyOptions are the options of Apply: FieldManager (required unless the client has one), Force, DryRun,
	// SendZeroValues. See [request.ApplyOptions].
	ApplyOptions = request.ApplyOptions
	// DeleteOptions are the options of Delete: GracePeriod, Propagation ("Background", "Foreground" or "Orphan"), UID,
	// ResourceVersion, DryRun and more. See [request.DeleteOptions].
	DeleteOptions = request.DeleteOptions
	// ModifyOptions are the options of Modify and CreateOrUpdate: MaxAttempts, DryRun, FieldManager, FieldValidation. See
	// [client.ModifyOptions].
	ModifyOptions = client.ModifyOptions
)

// Patches, for the method Patch of an API.
type (
	// Patch describes changes to an object. [MergePatch], [JSONPatch] and [StrategicMergePatch] return one. See
	// [request.Patch].
	Patch = request.Patch
	// PatchOp is one operation of a JSON patch: Op, Path, From, Value. See [request.Op].
	PatchOp = request.Op
)

// MergePatch returns a JSON merge patch: body has the fields to set, and null for those to remove. See
// [request.MergePatch].
func MergePatch(body any) Patch { return request.MergePatch(body) }

// JSONPatch returns a patch of operations, which the server executes in order. See [request.JSONPatch].
func JSONPatch(ops ...PatchOp) Patch { return request.JSONPatch(ops...) }

// StrategicMergePatch returns a patch that merges lists by their keys. Custom resources do not support it. See
// [request.StrategicMergePatch].
func StrategicMergePatch(body any) Patch { return request.StrategicMergePatch(body) }
