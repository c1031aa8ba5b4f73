// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !wasip1

package client

import (
	"bufio"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"sync"

	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/middleware"
)

// compression returns the middleware for compressed responses.
func compression(cfg *config.Config) []middleware.Func {
	if cfg.DisableCompression {
		return nil
	}
	return []middleware.Func{compressWatches}
}

// compressWatches is a middleware that accepts compressed watches. Since Kubernetes 1.37, servers compress those that
// begin with a list. net/http would keep 46 KB for each of them until it ends, also while no event arrives.
func compressWatches(next http.RoundTripper) http.RoundTripper {
	return middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
		if call, _ := middleware.CallOf(r.Context()); call.Verb != "watch" || r.Header.Get("Accept-Encoding") != "" {
			return next.RoundTrip(r)
		}
		r = r.Clone(r.Context())
		r.Header.Set("Accept-Encoding", "gzip")
		resp, err := next.RoundTrip(r)
		if err == nil && resp.Header.Get("Content-Encoding") == "gzip" {
			resp.Header = resp.Header.Clone() // a custom Transport may keep it
			resp.Header.Del("Content-Encoding")
			resp.Header.Del("Content-Length")
			resp.ContentLength, resp.Uncompressed = -1, true
			resp.Body = newGzipBody(resp.Body)
		}
		return resp, err
	})
}

// gzipBody reads a compressed body. Servers compress the events that they send at once as a gzip member of their own.
// Between members, gzipBody needs only a small buffer.
type gzipBody struct {
	io.ReadCloser

	in     *bufio.Reader
	member *gzip.Reader // nil between members
}

func newGzipBody(body io.ReadCloser) *gzipBody {
	return &gzipBody{ReadCloser: body, in: bufio.NewReader(body)}
}

// gzipReaders are readers that no body uses.
//
//nolint:gochecknoglobals // a cache
var gzipReaders = sync.Pool{New: func() any { return new(gzip.Reader) }}

// Read reads decompressed bytes. It returns those of a member at once, and does not wait for the next one.
func (b *gzipBody) Read(p []byte) (int, error) {
	for {
		if b.member == nil {
			if _, err := b.in.Peek(1); err != nil { // io.EOF at the end of the body
				return 0, err
			}
			member := gzipReaders.Get().(*gzip.Reader) //nolint:forcetypeassert // the pool has no others
			if err := member.Reset(b.in); err != nil {
				return 0, err
			}
			member.Multistream(false)
			b.member = member
		}
		n, err := b.member.Read(p)
		if !errors.Is(err, io.EOF) {
			return n, err
		}
		gzipReaders.Put(b.member)
		b.member = nil
		if n > 0 {
			return n, nil
		}
	}
}
