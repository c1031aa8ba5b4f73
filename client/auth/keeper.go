// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"context"
	"crypto"
	"crypto/tls"
	"slices"
	"sync"
	"time"

	"github.com/kube-go/sdk/client/middleware"
)

// credential is a token, a client certificate or both. It is immutable.
type credential struct {
	token  string
	cert   *tls.Certificate
	expiry time.Time // zero if it is unknown
}

// same reports whether two credentials are equal to a server.
func (c *credential) same(other *credential) bool {
	return c.token == other.token && sameCertificate(c.cert, other.cert)
}

func sameCertificate(a, b *tls.Certificate) bool {
	if a == nil || b == nil {
		return a == b
	}
	return slices.EqualFunc(a.Certificate, b.Certificate, slices.Equal) && sameKey(a, b)
}

// sameKey reports whether the private keys are equal. The keys of one certificate are.
func sameKey(a, b *tls.Certificate) bool {
	key, ok := a.PrivateKey.(interface {
		Equal(x crypto.PrivateKey) bool
	})
	return ok && key.Equal(b.PrivateKey)
}

const (
	// leeway is how long before its expiration a credential is replaced, unless that is most of its lifetime.
	leeway = 30 * time.Second
	// pause is how long a source is not called after it has returned nothing better than the current credential.
	pause = 10 * time.Second
)

// keeper keeps a credential, and obtains a new one when it is about to expire or was rejected. It is safe for
// concurrent use.
//
// At most one flight is in progress at any time, even if all its callers have gone: the flight owns the state of the
// source, and a request that was sent may have spent a token that is valid only once. So the keeper owns the flight's
// goroutine, and only obtain ends the flight; obtain therefore needs a time limit of its own. Callers wait as long as
// their contexts allow, and later callers join the flight.
type keeper struct {
	// obtain returns a credential to replace old, which is nil at first. It must return within a bounded time. The context
	// has the values of the first caller's context, and does not end with it.
	obtain func(ctx context.Context, old *credential) (*credential, error)
	// failurePause is how long an error of obtain is also the result of further requests.
	failurePause time.Duration

	mu      sync.Mutex // guards the fields below
	current *credential
	renewAt time.Time // when to obtain the next one; zero means never
	quiet   time.Time // the source is not called before this time after a rejection
	flight  *flight   // nil if the source is not being called
	failed  *flight   // the last flight, if it failed
	retryAt time.Time // failed is returned before this time
}

// flight is one call of obtain.
type flight struct {
	done chan struct{} // closed when cred and err are set
	cred *credential
	err  error
}

// get returns a credential that has not expired, as far as the keeper knows.
func (k *keeper) get(ctx context.Context) (*credential, error) {
	k.mu.Lock()
	if k.fresh(time.Now()) {
		defer k.mu.Unlock()
		return k.current, nil
	}
	f := k.join(ctx)
	k.mu.Unlock()
	cred, err := f.wait(ctx)
	if err == nil || ctx.Err() != nil {
		return cred, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	switch now := time.Now(); {
	case k.fresh(now): // a later flight has succeeded
		return k.current, nil
	case k.current != nil && now.Before(k.current.expiry): // the old one is still valid
		k.renewAt = earlier(now.Add(pause), k.current.expiry)
		return k.current, nil
	}
	return nil, err
}

// fresh reports whether there is a credential that need not be replaced yet. The caller holds the mutex.
func (k *keeper) fresh(now time.Time) bool {
	return k.current != nil && (k.renewAt.IsZero() || now.Before(k.renewAt))
}

// peek returns the current credential, or nil, without calling the source.
func (k *keeper) peek() *credential {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.current
}

// renew replaces a credential that the server has rejected, and reports whether there is another one now.
func (k *keeper) renew(ctx context.Context, refused *credential) (bool, error) {
	k.mu.Lock()
	if !k.current.same(refused) {
		defer k.mu.Unlock()
		return true, nil
	}
	if time.Now().Before(k.quiet) {
		defer k.mu.Unlock()
		return false, nil
	}
	f := k.join(ctx)
	k.mu.Unlock()
	cred, err := f.wait(ctx)
	if err != nil {
		return false, err
	}
	if cred.same(refused) {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.quiet = time.Now().Add(pause)
		return false, nil
	}
	return true, nil
}

// join returns the flight in progress, or starts one. The caller holds the mutex.
func (k *keeper) join(ctx context.Context) *flight {
	switch {
	case k.flight != nil:
		return k.flight
	case k.failed != nil && time.Now().Before(k.retryAt):
		return k.failed
	case ctx.Err() != nil: // a request that has ended starts nothing
		f := &flight{done: make(chan struct{}), err: context.Cause(ctx)}
		close(f.done)
		return f
	}
	k.flight = &flight{done: make(chan struct{})}
	go k.fly(context.WithoutCancel(ctx), k.flight, k.current)
	return k.flight
}

func (k *keeper) fly(ctx context.Context, f *flight, old *credential) {
	defer close(f.done)
	f.cred, f.err = k.obtain(ctx, old)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.flight, k.failed = nil, nil
	if f.err != nil {
		k.failed, k.retryAt = f, time.Now().Add(k.failurePause)
		return
	}
	k.store(f.cred)
}

// wait returns the result of a flight, or the cause if ctx ends first.
func (f *flight) wait(ctx context.Context) (*credential, error) {
	select {
	case <-f.done:
		return f.cred, f.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// store keeps a credential, and sets when to obtain the next one. The caller holds the mutex.
func (k *keeper) store(c *credential) {
	old, now := k.current, time.Now()
	if old != nil && sameCertificate(old.cert, c.cert) {
		c.cert = old.cert // callers compare the pointer
	}
	k.current = c
	switch left := c.expiry.Sub(now); {
	case c.expiry.IsZero():
		k.renewAt = time.Time{}
	case left <= 0: // the server's clock may differ
		k.renewAt = now.Add(pause)
	case old != nil && old.expiry.Equal(c.expiry) && left <= leeway: // the source returns it until it expires
		k.renewAt = earlier(now.Add(pause), c.expiry)
	default:
		k.renewAt = c.expiry.Add(-min(leeway, left/4))
	}
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// authorization returns the header value of a credential, for [middleware.Authorize].
func (k *keeper) authorization(ctx context.Context) (string, middleware.Renew, error) {
	c, err := k.get(ctx)
	if err != nil {
		return "", nil, err
	}
	value := ""
	if c.token != "" {
		value = "Bearer " + c.token
	}
	return value, func(ctx context.Context) (bool, error) { return k.renew(ctx, c) }, nil
}
