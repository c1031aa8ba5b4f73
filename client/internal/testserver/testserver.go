// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package testserver

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core/wire"
)

// Request is a received request.
type Request struct {
	Method, URI string
	Header      http.Header
	Body        string
}

// Server responds to requests with a handler that a test provides, and records them.
type Server struct {
	*httptest.Server

	mu   sync.Mutex // guards asks
	asks []Request
}

// New starts a TLS server that supports HTTP/2 and HTTP/1.1. The test fails if goroutines outlive it.
func New(t testing.TB, answer http.HandlerFunc) *Server {
	t.Helper()
	CheckGoroutines(t)
	s := &Server{}
	s.Server = httptest.NewUnstartedServer(s.remember(answer))
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

func (s *Server) remember(answer http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		s.asks = append(s.asks, Request{r.Method, r.RequestURI, r.Header.Clone(), string(body)})
		s.mu.Unlock()
		answer(w, r)
	})
}

// Asked returns the requests so far.
func (s *Server) Asked() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asks
}

// Config returns a configuration that trusts the server.
func (s *Server) Config() *config.Config {
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	return &config.Config{Server: s.URL, CAData: ca, Source: "the test"}
}

// Client returns a client of the server that sends each request once.
func (s *Server) Client(t testing.TB) *client.Client {
	t.Helper()
	return NewClient(t, &client.Options{Config: s.Config(), Retry: Once()})
}

// Once returns the options for tests that check a single response. The tests of retries are in retry_test.go.
func Once() *middleware.RetryOptions { return &middleware.RetryOptions{MaxAttempts: 1} }

// NewClient returns a client with the given options.
func NewClient(t testing.TB, o *client.Options) *client.Client {
	t.Helper()
	c, err := client.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// CheckGoroutines makes the test fail if more goroutines run at its end than now.
func CheckGoroutines(t testing.TB) {
	t.Helper()
	before := runtime.NumGoroutine()
	t.Cleanup(func() {
		deadline := time.After(time.Minute)
		for runtime.NumGoroutine() > before {
			select {
			case <-deadline:
				stacks := make([]byte, 1<<20)
				t.Errorf("%d goroutines run after the test, %d ran before:\n%s",
					runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
				return
			case <-time.After(time.Millisecond):
			}
		}
	})
}

// JSON encodes a value.
func JSON(t testing.TB, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Reply sends a response with a body of the given content type.
func Reply(w http.ResponseWriter, code int, contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(code)
	_, _ = w.Write(body)
}

// Fail sends a Status, like an API server.
func Fail(w http.ResponseWriter, code int, reason metav1.StatusReason, message string) {
	body, _ := json.Marshal(&metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   "Failure", Code: int32(code), Reason: reason, Message: message,
	})
	Reply(w, code, wire.MediaTypeJSON, body)
}

// Answering returns a client whose server prints each request with its body and sends the given responses in turn. It
// is for examples.
func Answering(answers ...string) *client.Client {
	next := 0
	c, err := client.New(context.Background(), &client.Options{
		Config: &config.Config{Server: "https://cluster.example"},
		Transport: middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
			var body json.RawMessage
			if r.Body != nil {
				_ = json.NewDecoder(r.Body).Decode(&body)
				_ = r.Body.Close()
			}
			fmt.Fprintln(os.Stdout, strings.TrimSpace(r.Method+" "+r.URL.Path+" "+string(body)))
			w := httptest.NewRecorder()
			w.Header().Set("Content-Type", "application/json")
			answer := answers[min(next, len(answers)-1)]
			var status struct{ Code int }
			if _ = json.Unmarshal([]byte(answer), &status); status.Code != 0 {
				w.WriteHeader(status.Code)
			}
			next++
			fmt.Fprint(w, answer)
			return w.Result(), nil
		}),
	})
	if err != nil {
		panic(err)
	}
	return c
}
