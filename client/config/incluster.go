// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
)

// The files that exist in every pod with a service account.
const (
	serviceAccountToken     = "/var/run/secrets/kubernetes.io/serviceaccount/token"
	serviceAccountCA        = "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt"
	serviceAccountNamespace = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"
)

// InCluster returns the configuration of the pod that the program runs in: the server that KUBERNETES_SERVICE_HOST and
// KUBERNETES_SERVICE_PORT name, with the token and the certificate authority of the pod's service account. The
// namespace is taken from the variable POD_NAMESPACE, then from the service account, and is "default" if neither sets
// it.
//
// Only Namespace and Override of the options apply. Setting another option is an error.
//
// Errors: [ErrNotInCluster], [FieldError].
func InCluster(ctx context.Context, opts *Options) (*Config, error) {
	o := Options{}
	if opts != nil {
		o = *opts
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return osEnv().inCluster(&o)
}

func (e env) inCluster(o *Options) (*Config, error) {
	if o.Path != "" || o.Context != "" || o.Cluster != "" || o.User != "" {
		return nil, errors.New("in-cluster: Path, Context, Cluster and User apply only to a kubeconfig: leave them empty")
	}
	host, port := e.getenv("KUBERNETES_SERVICE_HOST"), e.getenv("KUBERNETES_SERVICE_PORT")
	if host == "" || port == "" {
		return nil, fmt.Errorf("%w (KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not both set)", ErrNotInCluster)
	}
	token, err := e.readFile(serviceAccountToken)
	if err != nil {
		return nil, fmt.Errorf("%w with a service account (%w; is automountServiceAccountToken false?)",
			ErrNotInCluster, err)
	}
	cfg := &Config{
		Server:          "https://" + net.JoinHostPort(host, port),
		Namespace:       e.podNamespace(),
		CAFile:          serviceAccountCA,
		BearerToken:     Secret(strings.TrimSpace(string(token))),
		BearerTokenFile: serviceAccountToken,
		Source:          "in-cluster",
	}
	p := place{stanza: cfg.Source, goNames: true}
	c := checker{env: e}
	return c.finish(cfg, o, places{cluster: p, user: p, context: p})
}

func (e env) podNamespace() string {
	if namespace := e.getenv("POD_NAMESPACE"); namespace != "" {
		return namespace
	}
	data, err := e.readFile(serviceAccountNamespace)
	if err != nil {
		return "" // not projected into this pod
	}
	return strings.TrimSpace(string(data))
}
