// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"

	"github.com/kube-go/sdk/client/auth"
	"github.com/kube-go/sdk/client/config"
)

// Credentials that come from a program or a provider.
type (
	// PluginOptions say which exec plugins may run, and how, see [auth.PluginOptions].
	PluginOptions = auth.PluginOptions
	// PluginPolicy says which exec plugins may run, see [auth.Policy].
	PluginPolicy = auth.Policy
	// PluginError says what went wrong with an exec plugin, see [auth.PluginError].
	PluginError = auth.PluginError
	// OIDCError says what went wrong with an OpenID Connect provider, see [auth.OIDCError].
	OIDCError = auth.OIDCError
)

// Which exec plugins may run.
const (
	AllowAllPlugins    = auth.AllowAll
	DenyAllPlugins     = auth.DenyAll
	AllowListedPlugins = auth.Allowlist
)

// Kubeconfig files.
type (
	// Kubeconfig is what kubeconfig files say, see [config.Kubeconfig].
	Kubeconfig = config.Kubeconfig
	// KubeconfigCluster says where a server is, see [config.Cluster].
	KubeconfigCluster = config.Cluster
	// KubeconfigUser says how to prove who one is, see [config.User].
	KubeconfigUser = config.User
	// KubeconfigContext brings a cluster and a user together, see [config.Context].
	KubeconfigContext = config.Context
	// KubeconfigOptions are the options of [ModifyKubeconfig], see [config.ModifyOptions].
	KubeconfigOptions = config.ModifyOptions
)

// ModifyKubeconfig changes kubeconfig files, see [config.Modify].
func ModifyKubeconfig(ctx context.Context, change func(*Kubeconfig) error, o *KubeconfigOptions) error {
	return config.Modify(ctx, change, o)
}
