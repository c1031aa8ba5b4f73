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

// keeper keeps a credential, and gets another one when it is about to expire or was refused. However many ask for one,
// the source is asked once, for as long as anybody waits for the answer. It is safe for concurrent use.
type keeper struct {
	// obtain gets a credential. The one it is to replace may be nil. The context ends when nobody waits any more.
	obtain func(ctx context.Context, old *credential) (*credential, error)

	mu      sync.Mutex // guards what follows
	current *credential
	renewAt time.Time // when the next one is to be had; zero is never
	quiet   time.Time // until when the source is not asked because of a refusal
	flight  *flight   // nil when the source is not being asked
}

// flight is one question to the source, and all who wait for its answer.
type flight struct {
	cancel  context.CancelFunc
	waiting int           // guarded by the keeper's mutex
	done    chan struct{} // closed when what follows is there
	cred    *credential
	err     error
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
	cred, err := k.wait(ctx, f)
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
	cred, err := k.wait(ctx, f)
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

// join returns the flight that is under way, or a new one. The caller holds the mutex and must wait for the flight.
func (k *keeper) join(ctx context.Context) *flight {
	if k.flight == nil {
		flying, cancel := context.WithCancel(context.WithoutCancel(ctx))
		f := &flight{cancel: cancel, done: make(chan struct{})}
		k.flight = f
		go k.fly(flying, f, k.current)
	}
	k.flight.waiting++
	return k.flight
}

func (k *keeper) fly(ctx context.Context, f *flight, old *credential) {
	defer f.cancel()
	defer close(f.done)
	f.cred, f.err = k.obtain(ctx, old)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.flight == f {
		k.flight = nil
	}
	if f.err == nil {
		k.store(f.cred)
	}
}

// wait returns what a flight has brought. The last one to lose patience ends it and waits for that.
func (k *keeper) wait(ctx context.Context, f *flight) (*credential, error) {
	select {
	case <-f.done:
		return f.cred, f.err
	case <-ctx.Done():
	}
	k.mu.Lock()
	f.waiting--
	last := f.waiting == 0
	if last && k.flight == f {
		k.flight = nil // who comes now gets one that is not about to end
	}
	k.mu.Unlock()
	if last {
		f.cancel()
		<-f.done
	}
	return nil, context.Cause(ctx)
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
