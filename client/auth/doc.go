// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package auth gets credentials that do not stand in a configuration, and keeps them fresh: those of a plugin, which is a
// program that prints them, and those of an OpenID Connect provider. A client uses it by itself; import it to say which
// plugins may run, or to send requests of your own with a configuration's credentials.
//
//	plugin, err := auth.NewPlugin(cfg, &auth.PluginOptions{Policy: auth.Allowlist, Allow: []string{"aws", "kubelogin"}})
//	if err != nil {
//		return err
//	}
//	rt := plugin.Layer(transport) // which sends plugin.Certificate(ctx) as its client certificate
//
// # Freshness
//
// A credential is kept until shortly before it expires, then the next request gets another one: 30 seconds before, or
// less when it does not live long. If that fails, the old one is used to its end. When the server refuses a credential,
// another one is got at once and the request is sent again, see [middleware.Authorize]. If that is refused too, or is the
// same, the source is left alone for ten seconds.
//
// However many requests wait for a credential, its source is asked once. Each request waits as long as its context
// allows. The plugin, or the refresh of a token, is not cancelled with the last of them: it may have spent a refresh token
// that is valid once, and what replaces that token would be lost. It goes on in the background, its result is kept, and
// requests that come in the meantime wait for it. A plugin ends after PluginOptions.Timeout at the latest. A refresh ends
// after two minutes at the latest, and is then given three seconds to write new tokens to the kubeconfig.
//
// # Errors
//
// A [PluginError] says what went wrong with a plugin, an [OIDCError] what went wrong with a provider. Neither shows what
// a plugin printed to standard output, or a provider has sent.
//
// # Concurrency
//
// Everything here is safe for concurrent use.
package auth
