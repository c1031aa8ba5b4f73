// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"maps"
	"net/http"
	"sync"
	"time"

	"github.com/kube-go/sdk/runtime/histogram"
	"github.com/kube-go/sdk/runtime/internal/durations"
)

// Metrics are the numbers of the requests for a path of a [Server].
type Metrics struct {
	Path     string
	InFlight int // the current requests

	// Codes are the numbers of responses by HTTP status. A failure whose response is a review, with HTTP status 200,
	// counts under its own code: 500 for a failed conversion or callback, 400 for an invalid review. A denial by a
	// callback is not a failure.
	Codes  map[int]uint64
	Panics uint64              // the number of callbacks that have panicked
	Took   histogram.Histogram // how long requests took
}

// Metrics returns the current numbers of each path with a handler. Package metrics serves them. Do not call it
// concurrently with Handle.
func (s *Server) Metrics() []Metrics {
	all := make([]Metrics, 0, len(s.meters))
	for _, m := range s.meters {
		all = append(all, m.metrics())
	}
	return all
}

// meter is a handler that counts the requests for another one.
type meter struct {
	path    string
	handler http.Handler

	mu       sync.Mutex // guards the fields below
	inFlight int
	panics   uint64
	codes    map[int]uint64
	took     *durations.Counter
}

func newMeter(path string, h http.Handler) *meter {
	const ms, s = time.Millisecond, time.Second
	limits := []time.Duration{
		ms / 10, ms, 5 * ms, 10 * ms, 25 * ms, 50 * ms, 100 * ms, 250 * ms, 500 * ms, s, 5 * s / 2, 5 * s, 10 * s, 30 * s,
	}
	return &meter{
		path: path, handler: h, codes: map[int]uint64{http.StatusOK: 0, http.StatusInternalServerError: 0},
		took: durations.NewCounter(limits),
	}
}

func (m *meter) metrics() Metrics {
	m.mu.Lock()
	defer m.mu.Unlock()
	return Metrics{
		Path: m.path, InFlight: m.inFlight, Codes: maps.Clone(m.codes), Panics: m.panics, Took: m.took.Histogram(),
	}
}

func (m *meter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	m.inFlight++
	m.mu.Unlock()
	metered, begun, returned := &meteredWriter{ResponseWriter: w, code: http.StatusOK}, time.Now(), false
	defer func() {
		if !returned { // the server recovers from the panic and closes the connection
			metered.code, metered.panicked = http.StatusInternalServerError, true
		}
		m.count(metered, time.Since(begun))
	}()
	m.handler.ServeHTTP(metered, r)
	returned = true
}

func (m *meter) count(w *meteredWriter, took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.inFlight--
	m.took.Add(took)
	if w.panicked {
		m.panics++
	}
	m.codes[w.code]++
}

// meteredWriter keeps the status of a response, or the code of a failure.
type meteredWriter struct {
	http.ResponseWriter
	code     int
	panicked bool
}

// WriteHeader implements [http.ResponseWriter].
func (w *meteredWriter) WriteHeader(code int) {
	w.code = code
	w.ResponseWriter.WriteHeader(code)
}

// Unwrap returns the writer for [http.NewResponseController].
func (w *meteredWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
