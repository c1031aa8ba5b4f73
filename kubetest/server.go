// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kubetest

import (
	"cmp"
	"crypto/rand"
	"net/http"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/kubetest/internal/api"
	"github.com/kube-go/sdk/kubetest/internal/explore"
	"github.com/kube-go/sdk/kubetest/internal/journal"
	"github.com/kube-go/sdk/kubetest/internal/rbac"
)

// newAddress returns the URL of a server. The host resolves only in the server's own transport. It is random, since
// programs distinguish clusters by their URLs.
func newAddress() string { return "http://kubetest-" + strings.ToLower(rand.Text()[:8]) }

// Options are the options of Start. The zero value of a field is its default.
type Options struct {
	// Definitions return the CustomResourceDefinitions that exist when the server starts, such as kube.CRD[v1.Order].
	Definitions []func() (*unstructured.Unstructured, error)

	// Files are patterns, as of filepath.Glob, for YAML or JSON files whose objects exist when the server starts, such as
	// "../config/rbac/*.yaml". They may also be CustomResourceDefinitions. Each pattern must match a file.
	Files []string

	// Webhooks serves the webhooks of the server, such as a [http.ServeMux] with kube.ValidateHandler, kube.MutateHandler
	// and kube.ConversionHandler. They are called as the configurations of webhooks on the server say, such as those of
	// Files, and the definitions. The host of a request is that of the service, such as "shop-webhook.shop.svc", without
	// TLS. A handler must return when the context of its request ends. A conversion must neither sleep nor send requests
	// to the server. The objects that exist when the server starts are not reviewed. Nil calls no webhooks.
	Webhooks http.Handler

	// Objects exist when the server starts, too: typed or unstructured objects, with their status and metadata, except for
	// the resource version. A type whose resource is not known needs its apiVersion and kind. The server creates their
	// namespaces.
	Objects []core.Object
}

// Server is an API server in memory. It is safe for concurrent use.
type Server struct {
	t       testing.TB
	api     *api.Server
	address string
	clients *endpoint // for Client
	journal *journal.Journal
	endless atomic.Bool // a program sends requests in an endless loop
	explore *exploration
}

// Start starts a server, which runs until the end of the test. The test fails if an object is invalid. Clients in a
// bubble of testing/synctest need a server that was started in the bubble.
func Start(t testing.TB, o *Options) *Server {
	t.Helper()
	return start(t, o, nil)
}

// start starts a server. Without an exploration, e is nil.
func start(t testing.TB, o *Options, e *exploration) *Server {
	t.Helper()
	if o == nil {
		o = &Options{}
	}
	s := &Server{
		t: t, address: newAddress(), explore: e,
		api: api.New(func(panicked string) { t.Errorf("kubetest: %s", panicked) }, o.Webhooks),
	}
	var ignore func(*unstructured.Unstructured) bool
	if e != nil {
		ignore = e.scenario.Ignore
	}
	s.journal = journal.New(ignore)
	seeds, err := o.seeds()
	if err == nil {
		err = s.api.Add(o.Definitions, seeds)
	}
	if err != nil {
		t.Fatalf("kubetest: %v", err)
	}
	s.clients = newEndpoint(&handler{server: s, api: s.api, author: explore.Story})
	t.Cleanup(s.clients.close)
	return s
}

// Client returns a client of the server. Its options may be nil. Context, Share and Transport, which determine the
// server, must not be set, and of Config only Namespace and Impersonate. Without Impersonate, everything is permitted.
// With it, the roles and bindings on the server decide. The default of Namespace is that of the impersonated service
// account, as in its pods, and otherwise "default".
func (s *Server) Client(o *client.Options) *client.Client {
	s.t.Helper()
	var opts client.Options
	if o != nil {
		opts = *o
	}
	cfg := &config.Config{}
	if opts.Config != nil {
		cfg.Namespace, cfg.Impersonate = opts.Config.Namespace, opts.Config.Impersonate
	}
	other := opts.Config != nil && !reflect.DeepEqual(cfg, opts.Config)
	if other || opts.Context != "" || opts.Share != nil || opts.Transport != nil {
		s.t.Fatal("kubetest: Client: Config, except for its Namespace and Impersonate, Context, Share and Transport " +
			"determine another server: leave them empty")
	}
	if s.t.Context().Err() != nil {
		s.t.Fatal("kubetest: Client: the test of the server has ended")
	}
	cfg.Server, cfg.Namespace = s.address, cmp.Or(cfg.Namespace, namespaceOf(cfg.Impersonate.User))
	opts.Config, opts.Transport = cfg, s.clients.transport
	c, err := client.New(s.t.Context(), &opts)
	if err != nil {
		s.t.Fatalf("kubetest: %v", err)
	}
	return c
}

// namespaceOf returns the namespace that the configuration of a user has, unless a kubeconfig sets another one.
func namespaceOf(user string) string {
	if namespace, ok := rbac.NamespaceOf(user); ok {
		return namespace
	}
	return "default"
}

// PauseWatches holds back the events of all watches until ResumeWatches, so that caches become stale. Reads and lists
// are not affected. A controller waits for the events of its own writes, but not longer than its HoldTimeout.
func (s *Server) PauseWatches() { s.api.Store.Hide(s.api.Watches) }

// ResumeWatches sends the events that PauseWatches held back, and ends it.
func (s *Server) ResumeWatches() { s.api.Store.Show(s.api.Watches) }

// CloseConnections cuts all connections, including those of watches. Clients connect again.
func (s *Server) CloseConnections() {
	s.clients.closeConnections()
	if s.explore != nil {
		s.explore.closeConnections()
	}
}

// Compact drops the history of the server. A watch that begins at an earlier version, or the next page of an earlier
// list, then fails with core.ErrExpired. Watches that run are not affected. So that those of a client expire, call
// PauseWatches, change an object that they select, and call Compact, CloseConnections and ResumeWatches.
func (s *Server) Compact() { s.api.Store.Compact() }
