// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/guest"
	"github.com/kube-go/sdk/client/internal/broken"
	"github.com/kube-go/sdk/client/internal/redact"
	"github.com/kube-go/sdk/client/internal/streams"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core/abi"
)

// configOf returns the server and the namespace of the module. A guest has no other configuration: the host has the
// credentials and the connection.
func configOf(ctx context.Context, o *Options) (*config.Config, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	s, err := guest.Startup()
	if err != nil {
		return nil, err
	}
	cfg := &config.Config{
		Server: s.Server, Namespace: cmp.Or(s.Namespace, "default"), Source: fmt.Sprintf("the host of module %q", s.Module),
	}
	switch own := o.Config; {
	case o.Context != "":
		return nil, fmt.Errorf("Options.Context: is %q, but a module has no kubeconfig: leave it empty", o.Context)
	case o.Transport != nil:
		return nil, errors.New("Options.Transport: the requests of a module pass through its host: clear it")
	case o.StreamBufferBytes != 0:
		return nil, errors.New("Options.StreamBufferBytes: the host of a module has the connections: clear it")
	case o.Limits != nil && o.Limits.HeaderBytes != 0:
		return nil, errors.New("Options.Limits.HeaderBytes: the host of a module limits headers: clear it")
	case own != nil:
		if err := checkConfig(own, s.Server); err != nil {
			return nil, err
		}
		cfg.Namespace = cmp.Or(own.Namespace, cfg.Namespace)
	case o.Share != nil:
		return o.Share.config, nil
	}
	return cfg, nil
}

// compression returns no middleware: the host decompresses responses.
func compression(*config.Config) []middleware.Func { return nil }

// checkConfig rejects everything but the server and the namespace.
func checkConfig(cfg *config.Config, server string) error {
	if cfg.Server != "" && cfg.Server != server {
		return fmt.Errorf("Options.Config: Server is %q, but the host of the module uses %q: clear it", cfg.Server, server)
	}
	rest := *cfg
	rest.Server, rest.Namespace, rest.Source = "", "", ""
	v := reflect.ValueOf(rest)
	var set []string
	for i := range v.NumField() {
		if !v.Field(i).IsZero() {
			set = append(set, v.Type().Field(i).Name)
		}
	}
	if set != nil {
		return fmt.Errorf("Options.Config: sets %s, but the host of a module has the credentials and the connection: "+
			"clear it, and configure the module in the host", strings.Join(set, ", "))
	}
	return nil
}

// connect returns the connection of the module, which all clients share.
func connect(cfg *config.Config, _ *Options) (connections, error) {
	base, err := baseURL(cfg.Server)
	if err != nil {
		return connections{}, err
	}
	t := &transport{prefix: base.EscapedPath()}
	return connections{requests: t, upgrades: t}, nil
}

// transport sends requests through the host.
type transport struct {
	prefix string // of the paths of the server, which the host adds
}

var errUpgrade = errors.New("a module can't open streams such as those of exec and port-forward: run this outside of " +
	"the module")

// RoundTrip sends a request.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		defer r.Body.Close()
	}
	if r.Header.Get("Upgrade") != "" {
		return nil, errUpgrade
	}
	message, err := streams.Request(abi.Request{
		Method: r.Method,
		URL:    strings.TrimPrefix(r.URL.RequestURI(), t.prefix),
		Header: r.Header,
	}, r.Body)
	if err != nil {
		return nil, err
	}
	s, err := guest.Submit(abi.OpRequest, message)
	if err != nil {
		return nil, unsent(err)
	}
	resp, err := respond(r, s)
	if err != nil {
		s.Close()
		if _, ok := errors.AsType[*abi.Error](err); ok {
			return nil, lost(err)
		}
		return nil, err
	}
	return resp, nil
}

// respond reads the head of a response.
func respond(r *http.Request, s guest.Stream) (*http.Response, error) {
	item, err := s.Next(r.Context())
	if err != nil {
		return nil, err
	}
	head, err := streams.Response(item)
	if err != nil {
		return nil, err
	}
	resp := &http.Response{
		Status:     strconv.Itoa(head.Status) + " " + http.StatusText(head.Status),
		StatusCode: head.Status,
		Proto:      "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:        make(http.Header, len(head.Header)),
		ContentLength: -1,
		Request:       r,
	}
	for name, values := range head.Header {
		resp.Header[http.CanonicalHeaderKey(name)] = values
	}
	if n, err := strconv.ParseInt(resp.Header.Get("Content-Length"), 10, 64); err == nil && n >= 0 {
		resp.ContentLength = n
	}
	resp.Body = streams.NewBody(r.Context(), s, item.Flags&abi.FlagLast != 0, s.Close)
	return resp, nil
}

// unsent returns the error of a request that the host has not accepted. If another attempt may help, it is that of a
// connection that could not be opened, so that the request is retried.
func unsent(err error) error {
	if errors.Is(err, abi.OverLimit) || errors.Is(err, abi.Unavailable) {
		return &net.OpError{Op: "dial", Net: "host", Err: err}
	}
	return err
}

// lost returns the error of a request that the host may have sent. If the server can't be reached, it is that of a
// broken connection, so that the request is retried if this is safe.
func lost(err error) error {
	switch {
	case errors.Is(err, abi.OverLimit):
		return unsent(err)
	case errors.Is(err, abi.Unavailable), errors.Is(err, abi.DeadlineExceeded):
		return &broken.Error{Err: err}
	}
	return err
}

// connectHint returns what to do about an error of the host.
func connectHint(err error) string {
	switch code, _ := errors.AsType[abi.Code](err); code {
	case abi.Forbidden:
		return "the host does not allow this request: allow it in the configuration of the module, and remove headers " +
			"with credentials and with other identities"
	case abi.TooLarge:
		return "send less in one request, or increase the limit of the module"
	case abi.OverLimit:
		return "send fewer requests at the same time, or increase the limit of the module"
	}
	if _, ok := errors.AsType[*silentError](err); ok {
		return "the server is busy or stuck: check the server, or increase ResponseHeaderTimeout"
	}
	return ""
}

// A guest has neither certificates nor proxies.
func checkCertificate(context.Context, *config.Config) error { return nil }
func addProxyPassword(*redact.Secrets, *config.Config)       {}
