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

// credential is what proves who one is: a token, a client certificate or both. It does not change.
type credential struct {
	token  string
	cert   *tls.Certificate
	expiry time.Time // zero when it is not known
}

// same reports whether two credentials say the same to a server.
func (c *credential) same(other *credential) bool {
	return c.token == other.token && sameCertificate(c.cert, other.cert)
}

func sameCertificate(a, b *tls.Certificate) bool {
	if a == nil || b == nil {
		return a == b
	}
	return slices.EqualFunc(a.Certificate, b.Certificate, slices.Equal) && sameKey(a, b)
}

// sameKey reports whether the private keys are the same, which those of one certificate are.
func sameKey(a, b *tls.Certificate) bool {
	key, ok := a.PrivateKey.(interface {
		Equal(x crypto.PrivateKey) bool
	})
	return ok && key.Equal(b.PrivateKey)
}

const (
	// leeway is how long before its end a credential is replaced, unless that is most of its life.
	leeway = 30 * time.Second
	// pause is how long a source is left alone that has just given nothing better than what there was.
	pause = 10 * time.Second
)

// keeper keeps a credential, and obtains another one when it is about to expire or was refused. It is safe for
// concurrent use.
//
// At most one flight is under way at any time, whatever becomes of its callers: the state of a source belongs to it, and
// a request that was sent may have spent a token that is valid once. So the keeper owns the flight's goroutine, and only
// obtain ends it, which therefore has a time limit of its own. Callers wait as long as their contexts allow, and those
// that come later join the flight.
type keeper struct {
	// obtain gets a credential in place of old, which is nil at first. It must return within a bounded time. The context
	// has the values of the first caller's, and does not end with it.
	obtain func(ctx context.Context, old *credential) (*credential, error)

	mu      sync.Mutex // guards what follows
	current *credential
	renewAt time.Time // when to obtain the next one; zero is never
	quiet   time.Time // until when the source is not asked because of a refusal
	flight  *flight   // nil when the source is not being asked
}

// flight is one call of obtain.
type flight struct {
	done chan struct{} // closed when what follows is set
	cred *credential
	err  error
}

// get returns a credential that is worth sending.
func (k *keeper) get(ctx context.Context) (*credential, error) {
	k.mu.Lock()
	if k.current != nil && (k.renewAt.IsZero() || time.Now().Before(k.renewAt)) {
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
	if now := time.Now(); k.current != nil && now.Before(k.current.expiry) { // we were early
		k.renewAt = earlier(now.Add(pause), k.current.expiry)
		return k.current, nil
	}
	return nil, err
}

// peek returns the credential there is, or nil, without asking the source.
func (k *keeper) peek() *credential {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.current
}

// renew replaces a credential that the server has refused, and reports whether there is another one now.
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

// join returns the flight that is under way, or starts one. The caller holds the mutex.
func (k *keeper) join(ctx context.Context) *flight {
	switch {
	case k.flight != nil:
		return k.flight
	case ctx.Err() != nil: // nothing is started for a request that has ended
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
	k.flight = nil
	if f.err == nil {
		k.store(f.cred)
	}
}

// wait returns the result of a flight, or the cause for which ctx ended.
func (f *flight) wait(ctx context.Context) (*credential, error) {
	select {
	case <-f.done:
		return f.cred, f.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// store keeps a credential, and decides when to look for the next. The caller holds the mutex.
func (k *keeper) store(c *credential) {
	old, now := k.current, time.Now()
	if old != nil && sameCertificate(old.cert, c.cert) {
		c.cert = old.cert // for those who look at the pointer
	}
	k.current = c
	switch left := c.expiry.Sub(now); {
	case c.expiry.IsZero():
		k.renewAt = time.Time{}
	case left <= 0: // the server's clock may see it otherwise
		k.renewAt = now.Add(pause)
	case old != nil && old.expiry.Equal(c.expiry): // the source keeps it to the end
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

// authorization is the header of a credential, for [middleware.Authorize].
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
