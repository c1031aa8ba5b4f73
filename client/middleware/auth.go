// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package middleware

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core/wire"
)

const authorization = "Authorization"

// Bearer authenticates with a token that never changes.
func Bearer(token string) Func { return header(authorization, constant("Bearer "+token)) }

// Basic authenticates with a user name and a password.
func Basic(user, password string) Func {
	pair := base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
	return header(authorization, constant("Basic "+pair))
}

// Renew replaces a credential that the server has rejected, and reports whether there is a new one.
type Renew func(context.Context) (bool, error)

// Authorization returns the value of the Authorization header for a request, and a function to call if the server
// rejects it. An empty value means that the header is not set; a nil function means that the credential cannot be
// renewed.
type Authorization func(context.Context) (value string, renew Renew, err error)

// Authorize authenticates with credentials that change. If the server rejects a credential with status 401, it is
// renewed. If there is a new credential then, and the body can be sent again, the request is sent again, once. This
// applies to requests that upgrade the connection too. If renewing fails, the request fails with that error. If the
// server rejects the new credential too, nothing is renewed for ten seconds. Some responses with status 401 do not
// concern the credential: those of backends behind the proxy of the API server, and denials by admission webhooks,
// which are a Status with a reason other than Unauthorized.
func Authorize(find Authorization) Func {
	return func(next http.RoundTripper) http.RoundTripper { return &authorizer{next: next, find: find} }
}

// futile is how long nothing is renewed after a renewed credential was rejected.
const futile = 10 * time.Second

type authorizer struct {
	next http.RoundTripper
	find Authorization

	mu    sync.Mutex // guards until
	until time.Time  // nothing is renewed before this time
}

// RoundTrip sends a request with a credential, unless the request has one.
func (a *authorizer) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get(authorization) != "" {
		return a.next.RoundTrip(r)
	}
	resp, renew, err := a.send(r, r.Body)
	if err != nil || resp.StatusCode != http.StatusUnauthorized || renew == nil || !a.mayRenew() ||
		!rejects(resp, callOf(r)) {
		return resp, err
	}
	renewed, err := renew(r.Context())
	if err != nil {
		discard(resp)
		return nil, fmt.Errorf("the server rejected the credentials, and new ones could not be obtained: %w", err)
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

// rejects reports whether a response with status 401 rejects the credential. An API server then sends a Status with the
// reason Unauthorized, and a server in front of it may send any other body. Most backends behind the proxy send no
// Status, and the Status of an admission webhook usually has no reason.
func rejects(resp *http.Response, call Call) bool {
	start, _ := io.ReadAll(io.LimitReader(resp.Body, drainedBytes)) // the reader of the body gets the error
	resp.Body = &keptBody{io.MultiReader(bytes.NewReader(start), resp.Body), resp.Body}
	status := wire.UnmarshalStatus(start, resp.Header.Get("Content-Type"))
	if status == nil {
		return fromAPIServer(call)
	}
	return status.Reason == metav1.StatusReasonUnauthorized
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

// TokenFile authenticates with the token in a file. It reads the file again at most every 50 seconds, like client-go,
// and when the server rejects the token; see [Authorize]. While the file cannot be read, it uses the last token.
// Initial is the token to use until the file exists; it may be empty.
func TokenFile(path, initial string) Func {
	f := &tokenFile{path: path, token: initial}
	return Authorize(f.authorization)
}

// tokenLifetime is how long a token is used before its file is read again. Bound service account tokens are rotated
// minutes before they expire.
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

// renew reads the file, and reports whether its token differs from the rejected one.
func (f *tokenFile) renew(rejected string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.token == rejected {
		_ = f.load() // an unreadable file has no new token
	}
	return f.token != rejected
}
