// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core"
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

	// Transport replaces the connection to the server; its TLS and proxy are then its own affair, while credentials are
	// still sent. Default: HTTP/2 with the Config's TLS settings.
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
	jsonOnly *sync.Map
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
	}
	base, err := baseURL(cfg)
	if err != nil {
		return nil, err
	}
	rt := o.Transport
	if rt == nil {
		if rt, err = newTransport(cfg); err != nil {
			return nil, fmt.Errorf("%s: %w", cfg.Source, err)
		}
	}
	auth, err := authLayer(cfg)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cfg.Source, err)
	}
	agent := o.UserAgent
	if agent == "" {
		agent = defaultUserAgent()
	}
	layers := append(append([]middleware.Func{}, o.Middleware...),
		middleware.Log(o.Logger), middleware.UserAgent(agent), impersonateLayer(cfg), auth)
	return &Client{
		base:      base,
		namespace: cfg.Namespace,
		source:    cfg.Source,
		rt:        middleware.Chain(rt, layers...),
		limits:    o.Limits,
		jsonOnly:  new(sync.Map),
	}, nil
}

// Namespace returns the namespace that the configuration names for the cases where the user gives none.
func (c *Client) Namespace() string { return c.namespace }

// Server returns the URL of the API server.
func (c *Client) Server() string { return c.base.String() }

// Do sends a request and returns the response when its status is a success; the caller closes its body. It is the way
// to send what [API] has no verb for.
//
// Errors: [*core.StatusError] when the server says no, [*ConnectError] when it can't be reached, and the context's
// cause when the context ends.
func (c *Client) Do(ctx context.Context, r *request.Request) (*http.Response, error) {
	req, err := c.httpRequest(ctx, r)
	if err != nil {
		return nil, err
	}
	resp, err := c.rt.RoundTrip(req)
	if err != nil {
		return nil, c.sendError(ctx, err)
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		defer resp.Body.Close()
		return nil, statusError(resp)
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

// maxErrorBytes bounds what is kept of an error's body that is not a Status.
const maxErrorBytes = 2 << 10

// statusError makes an error of a response that is not a success.
func statusError(resp *http.Response) error {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20)) // what was read says most of it, even if the rest is lost
	e := &core.StatusError{RetryAfter: retryAfter(resp.Header.Get("Retry-After"))}
	status := wire.UnmarshalStatus(body, resp.Header.Get("Content-Type"))
	if status == nil {
		status = &metav1.Status{Message: strings.TrimSpace(string(body[:min(len(body), maxErrorBytes)]))}
	}
	if status.Code == 0 {
		status.Code = int32(resp.StatusCode)
	}
	e.Status = *status
	return e
}

// retryAfter parses the header in both of its forms; zero when there is none.
func retryAfter(header string) time.Duration {
	if n, err := strconv.Atoi(header); err == nil && n > 0 {
		return time.Duration(n) * time.Second
	}
	if t, err := http.ParseTime(header); err == nil {
		return max(0, time.Until(t))
	}
	return 0
}

// defaultUserAgent starts with the program's name and a slash: what stands before the slash is the server's default for
// field managers.
func defaultUserAgent() string {
	return fmt.Sprintf("%s/kube-go (%s/%s)", filepath.Base(os.Args[0]), runtime.GOOS, runtime.GOARCH)
}

func baseURL(cfg *config.Config) (*url.URL, error) {
	u, err := url.Parse(cfg.Server)
	if err == nil && (u.Scheme != "http" && u.Scheme != "https" || u.Host == "") {
		err = fmt.Errorf("want https://host:port")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: server %q: %w", cfg.Source, cfg.Server, err)
	}
	u.Path = strings.TrimSuffix(u.Path, "/")
	u.RawPath = strings.TrimSuffix(u.RawPath, "/")
	return u, nil
}
