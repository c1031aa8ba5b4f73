// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
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
	if e.missing() {
		return what + ": " + core.ErrNotFound.Error()
	}
	return what + ": " + e.Err.Error()
}

// missing reports whether the server said that it has no such object, which the operation's name says already.
func (e *OpError) missing() bool {
	se, ok := e.Err.(*core.StatusError) //nolint:errorlint // what is wrapped further in has more to say
	if !ok || e.Ref.Name == "" || !errors.Is(se, core.ErrNotFound) {
		return false
	}
	d := se.Status.Details
	return d != nil && d.Name == e.Ref.Name && strings.HasPrefix(e.Resource, d.Kind)
}

// Unwrap returns Err.
func (e *OpError) Unwrap() error { return e.Err }

// NotServedError says that the server has no such kind at all.
type NotServedError struct {
	Resource core.Resource
	Err      error // the server's answer
}

// Error names the kind and the remedy.
func (e *NotServedError) Error() string {
	msg := fmt.Sprintf("the server does not serve %s in version %s: ", e.Resource, e.Resource.Version)
	if strings.Contains(e.Resource.Group, ".") && !strings.HasSuffix(e.Resource.Group, ".k8s.io") {
		return msg + "install its CustomResourceDefinition, or correct the version"
	}
	return msg + "correct the group and version, or enable the API"
}

// Unwrap returns the server's answer, which matches core.ErrNotFound.
func (e *NotServedError) Unwrap() error { return e.Err }

// notServed recognises the answer to a URL that the server does not know: "not found" of nothing in particular.
func notServed(res core.Resource, err error) error {
	se, ok := err.(*core.StatusError) //nolint:errorlint // straight from Do
	if !ok || !errors.Is(se, core.ErrNotFound) {
		return err
	}
	if d := se.Status.Details; d != nil && (d.Name != "" || d.Kind != "") {
		return err
	}
	return &NotServedError{Resource: res, Err: err}
}

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
