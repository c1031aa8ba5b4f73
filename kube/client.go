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

// Reaching a server.
type (
	// Client is one API server with one identity, see [client.Client].
	Client = client.Client
	// ClientOptions are the options of [NewClient], see [client.Options].
	ClientOptions = client.Options
	// Config says where a server is and how to prove who one is, see [config.Config].
	Config = config.Config
	// Secret is a string that never prints itself, see [config.Secret].
	Secret = config.Secret
	// ConfigOptions are the options of [LoadConfig], see [config.Options].
	ConfigOptions = config.Options
	// Middleware is a layer around every request of a client, see [middleware.Func].
	Middleware = middleware.Func
	// RoundTripperFunc is a function that is an http.RoundTripper, see [middleware.RoundTripperFunc].
	RoundTripperFunc = middleware.RoundTripperFunc
)

// Why there is no configuration, for errors.Is.
var (
	ErrNoConfig           = config.ErrNoConfig
	ErrNotInCluster       = config.ErrNotInCluster
	ErrCertificateExpired = config.ErrCertificateExpired
)

// NewClient returns a client: of the kubeconfig's current context, else of the pod the program runs in, unless the
// options say otherwise. See [client.New].
func NewClient(ctx context.Context, o *ClientOptions) (*Client, error) { return client.New(ctx, o) }

// LoadConfig reads a configuration without making a client of it, see [config.Load].
func LoadConfig(ctx context.Context, o *ConfigOptions) (*Config, error) { return config.Load(ctx, o) }

// Objects of one kind.
type (
	// API is one kind of object on one server, with a method for each verb, see [client.API].
	API[K any] = client.API[K]
	// Subresource is a part of an object that is read and written by itself, see [client.Subresource].
	Subresource[K any] = client.Subresource[K]
	// Feed is one kind of object as a stream of packed objects, see [client.Feed].
	Feed = client.Feed
	// OpError says which operation failed, see [client.OpError].
	OpError = client.OpError
	// ConnectError says that the server could not be reached, see [client.ConnectError].
	ConnectError = client.ConnectError
	// NotServedError says that the server has no such kind, see [client.NotServedError].
	NotServedError = client.NotServedError
)

// Namespaced returns the API of a kind in one namespace, see [client.Namespaced].
func Namespaced[K any, P core.ObjectPtr[K]](c *Client, namespace string) *API[K] {
	return client.Namespaced[K, P](c, namespace)
}

// ClusterWide returns the API of a cluster-scoped kind, or of a namespaced kind in all namespaces, see
// [client.ClusterWide].
func ClusterWide[K any, P core.ObjectPtr[K]](c *Client) *API[K] { return client.ClusterWide[K, P](c) }

// APIOf returns the API of an explicit resource in the whole cluster, see [client.Of]. [client.API.In] narrows it to one
// namespace.
func APIOf[K any, P core.ObjectPtr[K]](c *Client, res Resource) *API[K] {
	return client.Of[K, P](c, res)
}

// Dynamic returns the API of a resource that is known only at run time, in the whole cluster, see [client.Dynamic].
// [client.API.In] narrows it to one namespace.
func Dynamic(c *Client, res Resource) *API[unstructured.Unstructured] { return client.Dynamic(c, res) }

// What verbs can be asked, see [request].
type (
	// GetOptions are the options of a get, see [request.GetOptions].
	GetOptions = request.GetOptions
	// ListOptions are the options of a list, see [request.ListOptions].
	ListOptions = request.ListOptions
	// WatchOptions are the options of a watch, see [request.WatchOptions].
	WatchOptions = request.WatchOptions
	// CreateOptions are the options of a create, see [request.CreateOptions].
	CreateOptions = request.CreateOptions
	// UpdateOptions are the options of an update, see [request.UpdateOptions].
	UpdateOptions = request.UpdateOptions
	// PatchOptions are the options of a patch, see [request.PatchOptions].
	PatchOptions = request.PatchOptions
	// ApplyOptions are the options of a server-side apply, see [request.ApplyOptions].
	ApplyOptions = request.ApplyOptions
	// DeleteOptions are the options of a delete, see [request.DeleteOptions].
	DeleteOptions = request.DeleteOptions
	// Patch is a description of changes to an object, see [request.Patch].
	Patch = request.Patch
	// PatchOp is one operation of a JSON patch, see [request.Op].
	PatchOp = request.Op
	// InvalidError is a request that can't be sent, see [request.InvalidError].
	InvalidError = request.InvalidError
)

// MergePatch returns a JSON merge patch, see [request.MergePatch].
func MergePatch(body any) Patch { return request.MergePatch(body) }

// JSONPatch returns a patch of operations, see [request.JSONPatch].
func JSONPatch(ops ...PatchOp) Patch { return request.JSONPatch(ops...) }

// StrategicMergePatch returns a patch that merges lists by their keys, see [request.StrategicMergePatch].
func StrategicMergePatch(body any) Patch { return request.StrategicMergePatch(body) }
