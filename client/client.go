// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/kube-go/sdk/client/auth"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
)

// Options are the options of [New]. The zero value of a field is its default.
type Options struct {
	// Config contains the address of the server and the credentials. Default: that of Share, or otherwise config.Load(ctx,
	// nil), which reads the kubeconfig or, in a pod, the service account.
	Config *config.Config

	// Context is the name of the kubeconfig context to use. It can't be combined with Config or Share. Default: the
	// kubeconfig's current-context.
	Context string

	// FieldManager is the default of the FieldManager in the options of each write, except for the binding of a pod.
	// Default: none, so that Apply requires one in its options, and the server derives that of other writes from the user
	// agent.
	FieldManager string

	// Share is a client whose connections the new client also uses. The Config must require the same connection:
	// server, TLS settings, client certificate, exec plugin and proxy. The token, the impersonated user and all other
	// options may differ. Default: separate connections.
	Share *Client

	// Plugin configures the exec plugin of the Config. It is ignored if the Config has no exec plugin, or has another
	// credential. Default: see [auth.PluginOptions].
	Plugin *auth.PluginOptions

	// UserAgent identifies the program to the server. Default: the file name of the program and the platform.
	UserAgent string

	// Middleware wraps every request, the first element outermost. See package middleware for the order. Default: none.
	Middleware []middleware.Func

	// PerAttempt wraps every HTTP request as it is sent, the first element outermost: retries are below Middleware and
	// above PerAttempt. Use it for [middleware.Observe]. Default: none.
	PerAttempt []middleware.Func

	// Retry configures the retries of failed requests. Default: see [middleware.RetryOptions].
	Retry *middleware.RetryOptions

	// RateLimit delays requests that exceed a rate, except those for the leases of replicas. Default: no limit.
	RateLimit *middleware.RateLimitOptions

	// OnWarning is called for each warning of the server, such as deprecated APIs and unknown fields, in the goroutine
	// that sends the request. Default: the Logger, or [slog.Default] without one, logs each warning once.
	OnWarning func(context.Context, middleware.Warning)

	// Transport replaces the connection to the server. Tokens, passwords and impersonation are still sent. TLS, client
	// certificates and proxies must be configured in the transport and must not be set in the Config. Default: HTTP/2
	// with the TLS settings of the Config, through its proxy or that of HTTPS_PROXY and NO_PROXY.
	Transport http.RoundTripper

	// ResponseHeaderTimeout is the maximum time from sending a request to the header of its response, for each attempt. It
	// does not apply to watches, logs, streams and proxied requests. An idempotent request without a response is sent
	// once more. Default: 2 min, because API servers give up after one.
	ResponseHeaderTimeout time.Duration

	// Logger logs each HTTP request at debug level, each retry at info level, and each new warning of the server.
	// Default: only the warnings are logged, with [slog.Default].
	Logger *slog.Logger

	// StreamBufferBytes is the maximum number of bytes of each response that an HTTP/2 connection keeps for a slow reader.
	// A server sends at most that many in one round trip. It must be less than 4 MiB, and cannot be combined with Share or
	// Transport, which determine the connection. Default: that of package net/http, which is 4 MiB.
	StreamBufferBytes int

	// Limits limit the size of responses. HeaderBytes cannot be combined with Share or Transport, which determine the
	// connection. Default: those of [wire.Limits].
	Limits *wire.Limits
}

// Client is a client of one API server with one identity.
type Client struct {
	base    *url.URL
	config  *config.Config
	manager string // Options.FieldManager
	conns   connections
	rt      http.RoundTripper // HTTP/2 if the server supports it
	upgrade http.RoundTripper // the same with HTTP/1.1, which streams require
	limits  *wire.Limits

	refusals refusals
}

// connections are the transports that clients with the same connection share.
type connections struct {
	requests, upgrades http.RoundTripper
	auth               middleware.Func // sends the credentials; nil without credentials
	own                bool            // created by the client, not given as Options.Transport
}

// closeIdle closes the idle connections, like net/http.Client.
func (c connections) closeIdle() {
	for _, rt := range []http.RoundTripper{c.requests, c.upgrades} {
		if closer, ok := rt.(interface{ CloseIdleConnections() }); ok {
			closer.CloseIdleConnections()
		}
	}
}

// New returns a client. It reads the configuration and the files that it names, but sends no request.
func New(ctx context.Context, o *Options) (*Client, error) {
	if o == nil {
		o = &Options{}
	}
	cfg, err := configOf(ctx, o)
	if err != nil {
		return nil, err
	}
	own := *cfg // the caller may change its own
	c, err := newClient(&own, o)
	if err != nil && cfg.Source != "" {
		err = fmt.Errorf("%s: %w", cfg.Source, err)
	}
	return c, err
}

func newClient(cfg *config.Config, o *Options) (*Client, error) {
	base, err := baseURL(cfg.Server)
	if err != nil {
		return nil, err
	}
	if m := o.FieldManager; len(m) > 128 || strings.ContainsFunc(m, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return nil, fmt.Errorf("Options.FieldManager: %q must have at most 128 printable characters", m)
	}
	c := &Client{base: base, config: cfg, manager: o.FieldManager}
	if c.conns, err = connect(cfg, o); err != nil {
		return nil, err
	}
	if o.Limits != nil {
		c.limits = new(*o.Limits)
	}
	chain, err := c.chain(o)
	if err != nil {
		return nil, err
	}
	c.rt = middleware.Chain(c.conns.requests, chain...)
	c.upgrade = middleware.Chain(c.conns.upgrades, chain...)
	return c, nil
}

// chain returns the middleware of every request, outermost first.
func (c *Client) chain(o *Options) ([]middleware.Func, error) {
	agent := o.UserAgent
	if agent == "" {
		agent = defaultUserAgent()
	}
	if strings.ContainsFunc(agent, unicode.IsControl) {
		return nil, fmt.Errorf("Options.UserAgent: %q contains control characters; remove them", agent)
	}
	warn := o.OnWarning
	if warn == nil {
		warn = middleware.LogWarnings(o.Logger)
	}
	retrying := middleware.RetryOptions{}
	if o.Retry != nil {
		retrying = *o.Retry
	}
	if retrying.Logger == nil {
		retrying.Logger = o.Logger
	}
	retry, err := middleware.Retry(&retrying)
	if err != nil {
		return nil, err
	}
	limit, err := middleware.RateLimit(o.RateLimit)
	if err != nil {
		return nil, err
	}
	timeout := cmp.Or(o.ResponseHeaderTimeout, headerTimeout)
	if timeout < 0 {
		return nil, fmt.Errorf("Options.ResponseHeaderTimeout: %v is negative; leave it zero for the default", timeout)
	}
	return slices.Concat(
		o.Middleware,
		[]middleware.Func{
			middleware.Warnings(warn), retry, limit, middleware.UserAgent(agent), impersonation(c.config), c.conns.auth,
		},
		o.PerAttempt,
		[]middleware.Func{middleware.Log(o.Logger), c.explain, limitHeaderTime(timeout)},
		compression(c.config),
	), nil
}

// Namespace returns the namespace of the configuration, for requests that name none.
func (c *Client) Namespace() string { return c.config.Namespace }

// Server returns the URL of the API server. It is empty for a nil client.
func (c *Client) Server() string {
	if c == nil {
		return ""
	}
	return c.base.String()
}

// Config returns a copy of the configuration. Use it to create another one, for example for a client that impersonates
// another user and shares the connections of this one.
func (c *Client) Config() *config.Config {
	own := *c.config
	return &own
}

// Reconnect makes later requests use new connections, including those of clients that share the connections. Requests
// in progress, such as watches, end on the current ones. Call it after requests without a response, since the
// connection may be dead: HTTP/2 uses one connection for all requests, and notices after 30 seconds that it is dead.
// With Options.Transport, it does nothing.
func (c *Client) Reconnect() {
	if t, ok := c.conns.requests.(interface{ reconnect() }); ok {
		t.reconnect()
	}
}

// CloseIdleConnections closes the idle connections, including those of clients that share them. The client can still be
// used.
func (c *Client) CloseIdleConnections() { c.conns.closeIdle() }

// Do sends a request and returns the response if its status is a success; the caller closes the body. Use it for
// requests that [API] and the packages below this one have no verb for. Redirects are not followed: they are errors. Do
// reads up to 8 MiB of the response to a read before it returns, so that it can repeat the request if the connection
// breaks. To read a response as it arrives, such as a stream of events, call Do with [middleware.WithAttempts] of 1.
// If Accept of the request begins with JSON or protobuf, a success with another content type is an error, unless it is
// empty or from a proxied object.
//
// Errors: [*core.StatusError] for any other status, in a [*NotServedError] if the server does not serve the kind;
// [*ConnectError] if the server cannot be reached; the context's cause if the context ends. If the request was sent
// more than once, a [*middleware.RetryError] contains the error. If the connection breaks while the body is read, the
// error matches io.ErrUnexpectedEOF.
func (c *Client) Do(ctx context.Context, r *request.Request) (*http.Response, error) {
	req, err := c.httpRequest(ctx, r)
	if err != nil {
		return nil, err
	}
	resp, err := c.rt.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		defer resp.Body.Close()
		return nil, notServed(r, retried(resp, c.failure(resp)))
	}
	if err := checkContent(r, resp); err != nil {
		resp.Body.Close()
		return nil, err
	}
	return resp, nil
}

func (c *Client) httpRequest(ctx context.Context, r *request.Request) (*http.Request, error) {
	if c == nil {
		_, err := unusable()
		return nil, err
	}
	unescaped, err := url.PathUnescape(r.Path)
	if err != nil {
		return nil, fmt.Errorf("request path: %w", err)
	}
	u := *c.base
	u.Path, u.RawPath = c.base.Path+unescaped, c.base.EscapedPath()+r.Path
	u.RawQuery = r.Query.Encode()
	var body io.Reader
	if r.Body != nil {
		body = bytes.NewReader(r.Body)
	}
	ctx = rememberSent(middleware.WithCall(ctx, callOf(r)))
	req, err := http.NewRequestWithContext(ctx, r.Method, u.String(), body)
	if err != nil {
		return nil, err
	}
	if r.Accept != "" {
		req.Header.Set("Accept", r.Accept)
	}
	if r.ContentType != "" {
		req.Header.Set("Content-Type", r.ContentType)
	}
	if r.IfNoneMatch != "" {
		req.Header.Set("If-None-Match", r.IfNoneMatch)
	}
	return req, nil
}

// defaultUserAgent returns a user agent that starts with the program's name and a slash: the server uses the part
// before the slash as the default field manager.
func defaultUserAgent() string {
	program := "unknown"
	if len(os.Args) > 0 {
		program = filepath.Base(os.Args[0])
	}
	return fmt.Sprintf("%s/kube-go (%s/%s)", program, runtime.GOOS, runtime.GOARCH)
}

// baseURL parses the address of a server, which is a valid http or https URL with a host.
func baseURL(server string) (*url.URL, error) {
	u, err := url.Parse(server)
	if err != nil {
		return nil, err
	}
	switch {
	case u.User != nil:
		return nil, fmt.Errorf("server %s: contains a user name or a password; set them as username and password",
			u.Redacted())
	case u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("server %s: contains a query or a fragment; remove it", u)
	}
	// Like client-go: a server or a proxy may redirect a path with "//", or not know it.
	u.RawPath = strings.TrimRight(path.Clean("/"+u.EscapedPath()), "/")
	u.Path, err = url.PathUnescape(u.RawPath)
	return u, err
}

// Format prints the address of the server, but not the configuration, whatever the verb.
func (c *Client) Format(f fmt.State, verb rune) {
	text := "client without a server"
	if c != nil && c.base != nil {
		text = "client of " + c.base.String()
	}
	fmt.Fprintf(f, fmt.FormatString(f, verb), text)
}
