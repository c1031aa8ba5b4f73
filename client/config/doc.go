// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package config says where an API server is and how to prove who one is, as a value: [Config]. Use it to load that
// value from kubeconfig files or from the pod the program runs in, or to look into kubeconfig files.
//
//	cfg, err := config.Load(ctx, nil)
//	if err != nil {
//		return err // one clear line: what is wrong, where, and what to do
//	}
//	fmt.Println(cfg.Server, cfg.Namespace)
//
// [Load] looks for a kubeconfig first, and for the service account of a pod next. [Options] choose a context or
// override what is loaded. [Read], [Parse] and [Merge] give the [Kubeconfig] itself, which keeps what this package does
// not know; [Kubeconfig.Config] resolves one of its contexts, and [Kubeconfig.Validate] reports what is wrong in all.
// [Modify] changes kubeconfig files:
//
//	err := config.Modify(ctx, func(k *config.Kubeconfig) error {
//		k.CurrentContext = "prod"
//		k.Context("prod").Namespace = "shop"
//		return nil
//	}, nil)
//
// This is the only package of the SDK that looks into the environment for its own purposes: for KUBECONFIG, HOME (on
// Windows USERPROFILE), and inside a cluster KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT and POD_NAMESPACE. The
// standard variables for proxies (HTTPS_PROXY, NO_PROXY and so on) are net/http's: they count for connections whose
// [Config] has no ProxyURL.
//
// # What kubectl does differently
//
// Files mean what they mean to kubectl, and these are errors instead of surprises: a key that is there twice, a field
// whose name is only spelled wrongly (Token, client_key), a context whose cluster or user does not exist, a key without
// its certificate, a KUBECONFIG of which no file exists, a service account without a readable ca.crt. Further YAML
// documents in a file are merged, where kubectl ignores them. A server that is written without a scheme is reached by
// https when the kubeconfig has a certificate authority, a client certificate or insecure-skip-tls-verify, where kubectl
// speaks http to it and leaves the credentials out.
//
// # Secrets
//
// Tokens, passwords and keys are of type [Secret]. However a [Config] or a [Kubeconfig] is printed, logged or
// marshalled, they are not shown; neither are the arguments and the environment of exec plugins, nor the user
// information in URLs. [Kubeconfig.Encode] shows them all.
//
// # Errors
//
// Mistakes are [FieldError] values that name the file, the stanza and the field, say what is wrong and what to do; all
// of them are reported at once. Other errors wrap [ErrNoConfig], [ErrNotInCluster] or [ErrCertificateExpired].
//
// # Concurrency
//
// The functions may be called from several goroutines. Values may be read by several as long as none changes them.
package config
