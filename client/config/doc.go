// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package config describes how to connect to an API server, as a value: [Config]. Use it to load that value from
// kubeconfig files or from the pod that the program runs in, or to inspect and change kubeconfig files.
//
//	cfg, err := config.Load(ctx, nil)
//	if err != nil {
//		return err // one clear line: what is wrong, where, and what to do
//	}
//	fmt.Println(cfg.Server, cfg.Namespace)
//
// [Load] looks for a kubeconfig first, and then for the service account of a pod. [Options] choose a context or
// override what was loaded. [Read], [Parse] and [Merge] return the [Kubeconfig] itself, including fields that this
// package does not know; [Kubeconfig.Config] resolves one of its contexts, and [Kubeconfig.Validate] reports the
// mistakes in all of them. [Modify] changes kubeconfig files:
//
//	err := config.Modify(ctx, func(k *config.Kubeconfig) error {
//		k.CurrentContext = "prod"
//		k.Context("prod").Namespace = "shop"
//		return nil
//	}, nil)
//
// This is the only package of the SDK that reads environment variables for its own purposes: KUBECONFIG, HOME
// (USERPROFILE on Windows) and, inside a cluster, KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT and POD_NAMESPACE.
// The standard variables for proxies (HTTPS_PROXY, NO_PROXY and so on) are read by net/http, for connections whose
// [Config] has no ProxyURL.
//
// # Differences from kubectl
//
// Files have the same meaning as for kubectl, except that the following are errors: a duplicate key, a field whose name
// is misspelled (Token, client_key) and not set otherwise, a context whose cluster or user does not exist, a key without its certificate, a
// KUBECONFIG of which no file exists, and a service account without a readable ca.crt. Further YAML documents in a
// file are merged; kubectl ignores them. A server without a scheme is accessed with https if the kubeconfig has a
// certificate authority, a client certificate or insecure-skip-tls-verify; kubectl uses http and omits the credentials.
//
// # Secrets
//
// Tokens, passwords and keys have the type [Secret]. They are not shown when a [Config] or a [Kubeconfig] is printed,
// logged or marshaled, and neither are the arguments and the environment of exec plugins or the user information in
// URLs. [Kubeconfig.Encode] shows all of them.
//
// # Kubeconfigs of others
//
// A kubeconfig can name a plugin to run, and files whose content its server receives. Use one that somebody else has
// written only if [Kubeconfig.CheckSelfContained] returns no error.
//
// # Errors
//
// Mistakes are [FieldError] values, which name the file, the stanza and the field, and say what is wrong and what to
// do. All mistakes are reported at once. Other errors wrap [ErrNoConfig], [ErrNotInCluster] or [ErrCertificateExpired].
//
// # Concurrency
//
// The functions are safe for concurrent use. Values are safe for concurrent use as long as none of the goroutines
// changes them.
package config
