// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package middleware

import (
	"encoding/base64"
	"fmt"
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

// TokenFile authenticates by the token in a file, which is read again when it may have changed: at most every 50
// seconds, as client-go does it, and after the server refused the token. A token that was read once stays in use while
// the file can't be read. Initial is the token to use when there is no file yet; it may be empty.
func TokenFile(path, initial string) Func {
	f := &tokenFile{path: path, token: initial}
	return func(next http.RoundTripper) http.RoundTripper {
		set := header(authorization, f.authorization)(next)
		return RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
			resp, err := set.RoundTrip(r)
			if err == nil && resp.StatusCode == http.StatusUnauthorized {
				f.expire()
			}
			return resp, err
		})
	}
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

func (f *tokenFile) authorization(*http.Request) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.read.IsZero() || time.Since(f.read) > tokenLifetime {
		if err := f.load(); err != nil && f.token == "" {
			return "", err
		}
	}
	return "Bearer " + f.token, nil
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

func (f *tokenFile) expire() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.read = time.Time{}
}
