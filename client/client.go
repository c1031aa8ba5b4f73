// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
)

// Options are the options of [New]. The zero value of a field is its default.
type Options struct {
	// Config says where the server is and who we are. Default: config.Load(ctx, nil), that is kubeconfig, else
	// in-cluster.
	Config *config.Config

	// UserAgent names the program to the server. Default: the program's file name with the platform.
	UserAgent string

	// Middleware is wrapped around every request, the first outermost. See package middleware for the order.
	Middleware []middleware.Func

	// Transport replaces the connection to the server. Tokens, passwords and impersonation are still sent; TLS, a
	// client certificate and a proxy are the transport's own affair, so the Config must not ask for them.
	// Default: HTTP/2 with the Config's TLS settings, through its proxy or else the one of HTTPS_PROXY and NO_PROXY.
	Transport http.RoundTripper

	// Logger gets one line per request at debug level. Default: none.
	Logger *slog.Logger

	// Limits bound what is read from the server. Default: those of [wire.Limits].
	Limits *wire.Limits
}

// Client is one API server with one identity.
type Client struct {
	base      *url.URL
	namespace string
	source    string
	rt        http.RoundTripper
	limits    *wire.Limits

	// jsonOnly remembers the resources whose servers refused a protobuf body.
	jsonOnly sync.Map
}

// New returns a client. It reads the configuration and the files it names, but does not ask the server anything.
func New(ctx context.Context, o *Options) (*Client, error) {
	if o == nil {
		o = &Options{}
	}
	cfg := o.Config
	if cfg == nil {
		loaded, err := config.Load(ctx, nil)
		if err != nil {
			return nil, err
		}
		cfg = loaded
	} else if err := cfg.Validate(ctx); err != nil {
		return nil, err
	}
	own := *cfg // the caller may go on changing its own
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
	auth, err := authLayer(cfg)
	if err != nil {
		return nil, err
	}
	rt := o.Transport
	if rt == nil {
		rt, err = newTransport(cfg)
	} else {
		err = checkOwnTransport(cfg)
	}
	if err != nil {
		return nil, err
	}
	c := &Client{base: base, namespace: cfg.Namespace, source: cfg.Source}
	if o.Limits != nil {
		c.limits = new(*o.Limits)
	}
	agent := o.UserAgent
	if agent == "" {
		agent = defaultUserAgent()
	}
	c.rt = middleware.Chain(rt, slices.Concat(o.Middleware, []middleware.Func{
		middleware.Log(o.Logger), middleware.UserAgent(agent), impersonateLayer(cfg), auth, c.explain,
	})...)
	return c, nil
}

// Namespace returns the namespace that the configuration names for the cases where the user gives none.
func (c *Client) Namespace() string { return c.namespace }

// Server returns the URL of the API server.
func (c *Client) Server() string { return c.base.String() }

// Do sends a request and returns the response when its status is a success; the caller closes its body. It is the way
// to send what [API] has no verb for. Redirects are not followed: they are no success.
//
// Errors: [*core.StatusError] when the server says no, [*ConnectError] when it can't be reached, and the context's
// cause when the context ends. When the connection breaks while the body is read, the error matches
// io.ErrUnexpectedEOF.
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
		return nil, c.misdirected(statusError(resp))
	}
	return resp, nil
}

func (c *Client) httpRequest(ctx context.Context, r *request.Request) (*http.Request, error) {
	path, err := url.PathUnescape(r.Path)
	if err != nil {
		return nil, fmt.Errorf("request path: %w", err)
	}
	u := *c.base
	u.Path, u.RawPath = c.base.Path+path, c.base.EscapedPath()+r.Path
	u.RawQuery = r.Query.Encode()
	var body io.Reader
	if r.Body != nil {
		body = bytes.NewReader(r.Body)
	}
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
	return req, nil
}

// defaultUserAgent starts with the program's name and a slash: what stands before the slash is the server's default for
// field managers.
func defaultUserAgent() string {
	program := "unknown"
	if len(os.Args) > 0 {
		program = filepath.Base(os.Args[0])
	}
	return fmt.Sprintf("%s/kube-go (%s/%s)", program, runtime.GOOS, runtime.GOARCH)
}

// baseURL parses the address of a server, which was validated to be an http or https URL with a host.
func baseURL(server string) (*url.URL, error) {
	u, err := url.Parse(server)
	if err != nil {
		return nil, err
	}
	switch {
	case u.User != nil:
		return nil, fmt.Errorf("server %s: holds a user name or a password; give them as username and password", u.Redacted())
	case u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("server %s: holds a query or a fragment; remove it", u)
	}
	u.Path = strings.TrimRight(u.Path, "/")
	u.RawPath = strings.TrimRight(u.RawPath, "/")
	return u, nil
}

// checkOwnTransport refuses what only the client's own transport can do.
func checkOwnTransport(cfg *config.Config) error {
	var asked []string
	for _, field := range []struct {
		name string
		set  bool
	}{
		{"TLSServerName", cfg.TLSServerName != ""},
		{"InsecureSkipTLSVerify", cfg.InsecureSkipTLSVerify},
		{"a certificate authority", cfg.CAFile != "" || len(cfg.CAData) > 0},
		{"a client certificate", cfg.ClientCertFile != "" || len(cfg.ClientCertData) > 0},
		{"ProxyURL", cfg.ProxyURL != ""},
	} {
		if field.set {
			asked = append(asked, field.name)
		}
	}
	if asked != nil {
		return errors.New("the Config asks for " + strings.Join(asked, ", ") +
			", which a Transport of your own can't be told; set it up there, and clear it here")
	}
	return nil
}
