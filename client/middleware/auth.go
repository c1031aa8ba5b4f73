// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package middleware

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

const authorization = "Authorization"

// Bearer authenticates by a token that never changes.
func Bearer(token string) Func { return header(authorization, constant("Bearer "+token)) }

// Basic authenticates by name and password.
func Basic(user, password string) Func {
	pair := base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
	return header(authorization, constant("Basic "+pair))
}

// Renew gets another credential in place of one that the server has refused, and reports whether there is one.
type Renew func(context.Context) (bool, error)

// Authorization returns the value of the header of that name for a request, which is not set when it is empty, and what
// to do if the server refuses it; nil is nothing.
type Authorization func(context.Context) (value string, renew Renew, err error)

// Authorize authenticates by credentials that change. When the server refuses one (401), it is renewed, and the request
// is sent again, once, if there is another one then and the body can be sent again. That goes for requests to upgrade
// the connection, too. When renewing fails, that is the error of the request. When the server refuses what was renewed,
// too, nothing is renewed for ten seconds.
func Authorize(find Authorization) Func {
	return func(next http.RoundTripper) http.RoundTripper { return &authorizer{next: next, find: find} }
}

// futile is how long nothing is renewed after that was of no use.
const futile = 10 * time.Second

type authorizer struct {
	next http.RoundTripper
	find Authorization

	mu    sync.Mutex // guards until
	until time.Time  // when something may be renewed again
}

// RoundTrip sends a request with a credential, unless it has one.
func (a *authorizer) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get(authorization) != "" {
		return a.next.RoundTrip(r)
	}
	resp, renew, err := a.send(r, r.Body)
	if err != nil || resp.StatusCode != http.StatusUnauthorized || renew == nil || !a.mayRenew() {
		return resp, err
	}
	renewed, err := renew(r.Context())
	if err != nil {
		discard(resp)
		return nil, fmt.Errorf("the server refuses the credentials, and there are no others: %w", err)
	}
	if !renewed || !replayable(r) {
		return resp, nil
	}
	discard(resp)
	body := r.Body
	if r.GetBody != nil {
		if body, err = r.GetBody(); err != nil {
			return nil, fmt.Errorf("send the body again: %w", err)
		}
	}
	resp, _, err = a.send(r, body)
	if err == nil && resp.StatusCode == http.StatusUnauthorized {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.until = time.Now().Add(futile)
	}
	return resp, err
}

func (a *authorizer) mayRenew() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return !time.Now().Before(a.until)
}

func (a *authorizer) send(r *http.Request, body io.ReadCloser) (*http.Response, Renew, error) {
	value, renew, err := a.find(r.Context())
	if err != nil {
		if body != nil {
			body.Close()
		}
		return nil, nil, err
	}
	r = r.Clone(r.Context())
	r.Body = body
	if value != "" {
		r.Header.Set(authorization, value)
	}
	resp, err := a.next.RoundTrip(r)
	return resp, renew, err
}

// TokenFile authenticates by the token in a file, which is read again when it may have changed: at most every 50
// seconds, as client-go does it, and when the server refuses the token; see [Authorize]. A token that was read once
// stays in use while the file can't be read. Initial is the token to use when there is no file yet; it may be empty.
func TokenFile(path, initial string) Func {
	f := &tokenFile{path: path, token: initial}
	return Authorize(f.authorization)
}

// tokenLifetime is how long a token is used before its file is looked at again; bound service account tokens are
// rotated minutes before they expire.
const tokenLifetime = 50 * time.Second

type tokenFile struct {
	path string

	mu    sync.Mutex // guards token and read
	token string
	read  time.Time
}

func (f *tokenFile) authorization(context.Context) (string, Renew, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.read.IsZero() || time.Since(f.read) > tokenLifetime {
		if err := f.load(); err != nil && f.token == "" {
			return "", nil, err
		}
	}
	token := f.token
	return "Bearer " + token, func(context.Context) (bool, error) { return f.renew(token), nil }, nil
}

func (f *tokenFile) load() error {
	data, err := os.ReadFile(f.path)
	if err != nil {
		return fmt.Errorf("bearer token: %w", err)
	}
	token := strings.TrimSpace(string(data))
	if token == "" {
		return fmt.Errorf("bearer token: %s is empty", f.path)
	}
	f.token, f.read = token, time.Now()
	return nil
}

// renew looks at the file, and reports whether there is another token than the one that was refused.
func (f *tokenFile) renew(refused string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.token == refused {
		_ = f.load() // a file that can't be read has no other token
	}
	return f.token != refused
}
