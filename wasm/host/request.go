// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core/abi"
	"github.com/kube-go/sdk/core/wire"
)

// readRequest decodes the message of a request: the length of the head, the head, and the body.
func readRequest(message []byte) (abi.Request, []byte, error) {
	var head abi.Request
	text, body, ok := abi.CutFrame(message)
	switch {
	case !ok:
		return head, nil, abi.Invalid
	case len(text) > abi.MaxHead: // it needs many times as much memory as it has bytes
		return head, nil, abi.TooLarge
	}
	if err := wire.UnmarshalJSON(text, &head); err != nil {
		return head, nil, abi.Invalid
	}
	return head, body, nil
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
	case head.Method == http.MethodConnect:
		return nil, abi.Forbidden
	case kind == abi.OpRequest && slices.Contains(strings.Split(u.Path, "/"), ".."): // it could leave the server's path
		return nil, abi.Invalid
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
	op.instance.guest.host.spawn(func() { // ends with the context of the operation, which the instance owns
		if err := op.stream(r); err != nil {
			op.fail(err)
		}
	})
	return nil
}

// stream sends the items of a response.
func (op *operation) stream(r *http.Request) error {
	resp, err := op.instance.exchange(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	head := marshal(abi.Response{Status: resp.StatusCode, Header: resp.Header})
	if len(head) > abi.MaxMessage {
		return &abi.Error{Code: abi.TooLarge, Message: "the head of the response is too large for a message"}
	}
	if !op.send(item{data: head}) {
		return context.Cause(op.ctx)
	}
	chunk := make([]byte, abi.MaxChunk)
	for {
		n, err := resp.Body.Read(chunk)
		if err != nil && err != io.EOF {
			return &abi.Error{Code: abi.Unavailable, Message: err.Error()}
		}
		it := item{data: bytes.Clone(chunk[:n])}
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

// callTime is the time after which a call ends without a response.
const callTime = time.Minute

// roundTrip sends a request, and returns the whole response. Other guests run meanwhile.
func (i *instance) roundTrip(ctx context.Context, kind abi.Operation, message []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, callTime, abi.DeadlineExceeded)
	defer cancel()
	used := requestCost + int64(len(message))
	budget := &i.guest.budget
	if !budget.reserve(used) {
		return nil, abi.OverLimit
	}
	defer func() { budget.free(used) }()
	message = bytes.Clone(message) // the guest does not run, but the memory may be unmapped at its end
	r, err := i.newRequest(ctx, kind, message)
	if err != nil {
		return nil, err
	}
	i.clock.pause()
	i.seat.leave()
	defer i.clock.resume()
	defer i.seat.back()
	resp, err := i.exchange(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	head := marshal(abi.Response{Status: resp.StatusCode, Header: resp.Header})
	answer := abi.AppendFrame(nil, head)
	chunk := make([]byte, abi.MaxChunk)
	for len(answer) <= abi.MaxMessage {
		n, err := resp.Body.Read(chunk)
		if !budget.reserve(int64(n)) {
			return nil, abi.OverLimit
		}
		used += int64(n)
		answer = append(answer, chunk[:n]...)
		switch cause := context.Cause(ctx); {
		case err == io.EOF:
			return answer, nil
		case err != nil && cause != nil:
			return nil, cause
		case err != nil:
			return nil, abi.Unavailable
		}
	}
	return nil, abi.TooLarge
}

// exchange sends a request, and records when it may have changed objects: also before it is sent, because the version
// of the write may arrive before the response, or the response never.
func (i *instance) exchange(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return i.guest.send(r)
	}
	i.wrote.Store(time.Now().UnixNano())
	defer func() { i.wrote.Store(time.Now().UnixNano()) }()
	return i.guest.send(r)
}

// send sends a request: one without a host to the API server, with the credentials of the module.
func (g *guest) send(r *http.Request) (*http.Response, error) {
	var next http.RoundTripper = g.client
	if r.URL.Host != "" {
		next = g.throttle(g.host.egress)
	}
	resp, err := next.RoundTrip(r)
	switch cause := context.Cause(r.Context()); {
	case err == nil:
		return resp, nil
	case cause != nil:
		return nil, cause
	}
	if refused, ok := errors.AsType[*abi.Error](err); ok {
		return nil, refused
	}
	return nil, &abi.Error{Code: abi.Unavailable, Message: err.Error()}
}

// throttle limits the rate of the requests of the module: its own, and those that the host sends for it.
func (g *guest) throttle(next http.RoundTripper) http.RoundTripper {
	return middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
		if err := g.pay(r.Context()); err != nil {
			if r.Body != nil {
				_ = r.Body.Close() // it is in memory
			}
			return nil, err
		}
		return next.RoundTrip(r)
	})
}

// pay waits until a request may be sent by the module, or for it, and counts it. It does not wait if ctx would end
// before, or for a repeated check of a permission.
func (g *guest) pay(ctx context.Context) error {
	if ctx.Value(recheckKey{}) != nil {
		g.countRequest()
		return nil
	}
	if err := g.requests.Wait(ctx); err != nil {
		if ctx.Err() != nil {
			return err
		}
		return &abi.Error{Code: abi.DeadlineExceeded, Message: "the deadline of the operation is before the time at which " +
			"the module may send another request (Limits.RequestsPerSecond)"}
	}
	g.countRequest()
	return nil
}

func (g *guest) countRequest() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stats.Requests++
}

// payWatch is pay for the requests of a shared watch that does not run: otherwise a module could make the host list
// objects without a limit. The caller counts the watch as running after that, so that each of several concurrent calls
// has paid.
func (g *guest) payWatch(ctx context.Context, w *sharedWatch) error {
	if w.running.Load() > 0 {
		return nil
	}
	return g.pay(ctx)
}
