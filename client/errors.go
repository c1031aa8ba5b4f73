// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"syscall"

	"github.com/kube-go/sdk/core"
)

// OpError says which operation failed. Each verb wraps its error in exactly one.
type OpError struct {
	Verb     string // the RBAC verb, or "apply"
	Resource string // plural with group, such as deployments.apps, and subresource
	Ref      core.ObjectRef
	Err      error
}

// Error returns, for example, "get pods prod/web-0: not found".
func (e *OpError) Error() string {
	what := e.Verb + " " + e.Resource
	switch {
	case e.Ref.Name != "":
		what += " " + e.Ref.String()
	case e.Ref.Namespace != "":
		what += " in " + e.Ref.Namespace
	}
	return what + ": " + e.Err.Error()
}

// Unwrap returns Err.
func (e *OpError) Unwrap() error { return e.Err }

// ConnectError says that the server could not be reached, and what to look at.
type ConnectError struct {
	Server string // URL
	Source string // where the URL came from
	Err    error
}

// Error names the server, where its address came from, the cause and a remedy.
func (e *ConnectError) Error() string {
	msg := "reach " + e.Server
	if e.Source != "" {
		msg += " (" + e.Source + ")"
	}
	msg += ": " + e.Err.Error()
	if hint := connectHint(e.Err); hint != "" {
		msg += "; " + hint
	}
	return msg
}

// Unwrap returns Err.
func (e *ConnectError) Unwrap() error { return e.Err }

func connectHint(err error) string {
	if errors.Is(err, syscall.ECONNREFUSED) {
		return "nothing listens there: start the server, or correct the address"
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok && dns.IsNotFound {
		return "correct the host name, or the resolver"
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "the server's certificate is not signed by the configured certificate-authority: take the cluster's current one"
	}
	if name, ok := errors.AsType[x509.HostnameError](err); ok {
		return fmt.Sprintf("the server's certificate is not for %s: correct the address, or set tls-server-name", name.Host)
	}
	if inv, ok := errors.AsType[x509.CertificateInvalidError](err); ok && inv.Reason == x509.Expired {
		return "renew the server's certificate, or correct this machine's clock"
	}
	return ""
}

// sendError explains why a request got no response.
func (c *Client) sendError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return &ConnectError{Server: c.base.String(), Source: c.source, Err: err}
}

// streamError explains why a response's body ended early.
func streamError(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
