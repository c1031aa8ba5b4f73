// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package webhook_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kube-go/sdk/core/admission"
	"github.com/kube-go/sdk/runtime/webhook"
)

// slowBody is a body that stops after its first bytes until it is continued.
type slowBody struct {
	first, rest int
	next        chan struct{}
}

func (b *slowBody) Read(p []byte) (int, error) {
	if b.first == 0 {
		if b.rest == 0 {
			return 0, io.EOF
		}
		<-b.next
		b.first, b.rest = b.rest, 0
	}
	n := min(len(p), b.first)
	copy(p, strings.Repeat(" ", n))
	b.first -= n
	return n, nil
}

// TestBodiesOfAllRequestsAreBounded sends large bodies slowly, as an attacker does.
func TestBodiesOfAllRequestsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = 8 << 20
		w := newWorld(t)
		r := &replica{pipe: newPipe(), result: make(chan error, 1)}
		r.Server = webhook.NewServer(w.api.Client(), &webhook.Options{
			Service: "shop", Namespace: "prod", Validating: []string{"shop"}, Logger: w.log.logger(), Listener: r.pipe,
			StopDelay: -1, MaxBodyBytes: limit,
		})
		var held, most atomic.Int64
		r.Handle("/validate", http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
			counted := &countedBody{ReadCloser: req.Body, held: &held, most: &most}
			defer func() { held.Add(-counted.n) }()
			req.Body = counted
			webhook.Admission(func(context.Context, *admission.Request) *admission.Response {
				return admission.Allowed()
			}, &webhook.HandlerOptions{Logger: w.log.logger()}).ServeHTTP(rw, req)
		}))
		ctx, stop := context.WithCancelCause(t.Context())
		go func() { r.result <- r.Run(ctx) }()
		synctest.Wait()

		transport := r.transport(t)
		send := func(body io.Reader) (code int, text, retry string) {
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://shop/validate", body)
			if err != nil {
				t.Error(err)
			}
			req.Header.Set("Content-Type", "application/json")
			resp, err := transport.RoundTrip(req)
			if err != nil {
				t.Error(err)
				return 0, "", ""
			}
			defer resp.Body.Close()
			got, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Error(err)
			}
			return resp.StatusCode, string(got), resp.Header.Get("Retry-After")
		}

		const clients = 20
		next, codes := make(chan struct{}), make(chan int, clients)
		for range clients {
			go func() {
				code, text, retry := send(&slowBody{first: 1 << 20, rest: 1, next: next})
				const remedy = "raise webhook.Options.MaxBodyBytes"
				if code == http.StatusTooManyRequests && (retry != "1" || !strings.Contains(text, remedy)) {
					t.Errorf("Retry-After is %q, and the text %q", retry, text)
				}
				codes <- code
			}()
			time.Sleep(time.Second)
		}
		if n := held.Load(); n < limit/3 {
			t.Errorf("the requests hold %d bytes: the test proves nothing", n)
		}
		const allowed = `"allowed":true`
		if code, text, _ := send(strings.NewReader(toAdmit)); code != http.StatusOK || !strings.Contains(text, allowed) {
			t.Errorf("a small request meanwhile: %d %s", code, text)
		}
		large := toAdmit + strings.Repeat(" ", 3<<20)
		if code, _, retry := send(strings.NewReader(large)); code != http.StatusTooManyRequests || retry != "1" {
			t.Errorf("a large request meanwhile: %d, Retry-After %q", code, retry)
		}
		for range clients { // one after the other: if all need more at the same time, all may be refused
			select {
			case next <- struct{}{}:
			default: // the other requests have been refused
			}
			synctest.Wait()
		}
		got := map[int]int{}
		for range clients {
			got[<-codes]++
		}
		if got[http.StatusOK] == 0 || got[http.StatusTooManyRequests] == 0 || len(got) != 2 {
			t.Errorf("the slow requests have the responses %v", got)
		}
		if n := most.Load(); n > limit {
			t.Errorf("the requests have held %d bytes", n)
		}
		if code, text, _ := send(strings.NewReader(large)); code != http.StatusOK || !strings.Contains(text, allowed) {
			t.Errorf("a large request afterwards: %d %s", code, text)
		}
		const half = `"message":"admission review: read body: the body is larger than 4194304 bytes, which is half of ` +
			`webhook.Options.MaxBodyBytes: raise it","reason":"RequestEntityTooLarge","code":413}`
		if code, text, _ := send(strings.NewReader(large + large)); code != http.StatusOK || !strings.Contains(text, half) {
			t.Errorf("a request that is too large: %d %s", code, text)
		}
		stop(errStop)
		if err := <-r.result; err != errStop {
			t.Error(err)
		}
	})
}

// countedBody counts the bytes that a request holds.
type countedBody struct {
	io.ReadCloser
	n          int64
	held, most *atomic.Int64
}

func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.n += int64(n)
	now := b.held.Add(int64(n))
	for most := b.most.Load(); now > most && !b.most.CompareAndSwap(most, now); most = b.most.Load() {
	}
	return n, err
}
