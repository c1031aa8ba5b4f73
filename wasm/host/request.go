// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/kube-go/sdk/core/abi"
	"github.com/kube-go/sdk/core/wire"
)

// readRequest decodes the message of a request: the length of the head, the head, and the body.
func readRequest(message []byte) (abi.Request, []byte, error) {
	var head abi.Request
	if len(message) < 4 {
		return head, nil, abi.Invalid
	}
	size := binary.LittleEndian.Uint32(message)
	if uint64(size) > uint64(len(message)-4) {
		return head, nil, abi.Invalid
	}
	if err := wire.UnmarshalJSON(message[4:4+size], &head); err != nil {
		return head, nil, abi.Invalid
	}
	return head, message[4+size:], nil
}

// isForbidden reports whether a guest may not set a header field: those of the connection, and for the API server those
// that choose an identity.
func isForbidden(name string, kind abi.Operation) bool {
	name = http.CanonicalHeaderKey(name)
	if slices.Contains([]string{"Host", "Connection", "Upgrade", "Transfer-Encoding"}, name) ||
		strings.HasPrefix(name, "Proxy-") {
		return true
	}
	return kind == abi.OpRequest &&
		(name == "Authorization" || name == "Cookie" || strings.HasPrefix(name, "Impersonate-"))
}

// newRequest returns the request that a guest asks for.
func (i *instance) newRequest(ctx context.Context, kind abi.Operation, message []byte) (*http.Request, error) {
	head, body, err := readRequest(message)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(head.URL)
	if err != nil || u.Fragment != "" || u.User != nil {
		return nil, abi.Invalid
	}
	switch {
	case kind == abi.OpHTTP && !slices.Contains(i.guest.module.Origins, u.Scheme+"://"+u.Host):
		return nil, abi.Forbidden
	case kind == abi.OpRequest && (u.IsAbs() || u.Host != "" || !strings.HasPrefix(u.Path, "/")):
		return nil, abi.Invalid
	}
	r, err := http.NewRequestWithContext(ctx, head.Method, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, abi.Invalid
	}
	for name, values := range head.Header {
		if isForbidden(name, kind) {
			return nil, abi.Forbidden
		}
		for _, value := range values {
			r.Header.Add(name, value)
		}
	}
	return r, nil
}

// request sends a request; the items are the head of the response, and its body in chunks.
func (op *operation) request(kind abi.Operation, message []byte) error {
	r, err := op.instance.newRequest(op.ctx, kind, message)
	if err != nil {
		return err
	}
	go func() { // ends with the context of the operation, which the instance owns
		if err := op.stream(r); err != nil {
			op.fail(err)
		}
	}()
	return nil
}

// stream sends the items of a response.
func (op *operation) stream(r *http.Request) error {
	resp, err := op.instance.guest.send(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if !op.send(item{data: marshal(abi.Response{Status: resp.StatusCode, Header: resp.Header})}) {
		return context.Cause(op.ctx)
	}
	chunk := make([]byte, abi.MaxChunk)
	for {
		n, err := resp.Body.Read(chunk)
		if err != nil && err != io.EOF {
			return &abi.Error{Code: abi.Unavailable, Message: err.Error()}
		}
		it := item{data: append([]byte(nil), chunk[:n]...)}
		if err == io.EOF {
			it.flags = abi.FlagLast
		}
		if n == 0 && err == nil {
			continue
		}
		if !op.send(it) {
			return context.Cause(op.ctx)
		}
		if err == io.EOF {
			return nil
		}
	}
}

// roundTrip sends a request, and returns the whole response.
func (i *instance) roundTrip(ctx context.Context, kind abi.Operation, message []byte) ([]byte, error) {
	r, err := i.newRequest(ctx, kind, message)
	if err != nil {
		return nil, err
	}
	resp, err := i.guest.send(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	head := marshal(abi.Response{Status: resp.StatusCode, Header: resp.Header})
	answer := append(binary.LittleEndian.AppendUint32(nil, uint32(len(head))), head...)
	body, err := io.ReadAll(io.LimitReader(resp.Body, int64(abi.MaxMessage-len(answer)+1)))
	if err != nil {
		return nil, abi.Unavailable
	}
	return append(answer, body...), nil
}

// send sends a request: one without a host to the API server, with the credentials of the module.
func (g *guest) send(r *http.Request) (*http.Response, error) {
	err := g.requests.Wait(r.Context())
	var resp *http.Response
	if err == nil && r.URL.Host == "" {
		resp, err = g.client.RoundTrip(r)
	} else if err == nil {
		resp, err = g.host.egress.RoundTrip(r)
	}
	switch cause := context.Cause(r.Context()); {
	case err == nil:
		return resp, nil
	case cause != nil:
		return nil, cause
	}
	return nil, &abi.Error{Code: abi.Unavailable, Message: err.Error()}
}
