// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package auth obtains credentials that are not part of a configuration, and renews them: those of an exec plugin,
// which is a program that prints credentials, and those of an OpenID Connect provider. A client uses it automatically.
// Import it to specify which plugins may run, or to send your own requests with the credentials of a configuration.
//
//	plugin, err := auth.NewPlugin(cfg, &auth.PluginOptions{Policy: auth.Allowlist, Allow: []string{"aws", "kubelogin"}})
//	if err != nil {
//		return err
//	}
//	rt := plugin.Middleware(transport) // transport presents plugin.Certificate(ctx) as its client certificate
//
// # Expiration
//
// A credential is kept until 30 seconds before it expires, or less if it is short-lived; the next request then obtains
// a new one. If renewal fails, the old credential is used until it expires. If the server rejects a credential, a new
// one is obtained immediately and the request is sent again, see [middleware.Authorize]. If the new credential is
// rejected too, or is the same, the source is not called again for ten seconds.
//
// However many requests wait for a credential, its source is called once. Each request waits as long as its context
// allows. The plugin, or the refresh of a token, is not canceled with the last waiting request: it may have spent a
// refresh token that is valid only once, and the new refresh token would be lost. It continues in the background and
// its result is kept; requests that arrive in the meantime wait for it. A plugin is killed after PluginOptions.Timeout;
// if the program ends earlier, the plugin may continue without a limit. A refresh ends after two minutes, and then has
// three seconds to write new tokens to the kubeconfig.
//
// # Errors
//
// [PluginError] reports a failure of a plugin, and [OIDCError] a failure of a provider. Neither shows the standard
// output of a plugin or the body of a provider's response.
//
// # Concurrency
//
// All types and functions are safe for concurrent use.
package auth
