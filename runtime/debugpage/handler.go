// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package debugpage

import (
	"crypto/sha256"
	_ "embed" // the page
	"encoding/base64"
	"encoding/json"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/kube-go/sdk/runtime/metrics"
)

//go:embed page.html
var page string

// fresh is how long a document is used again.
const fresh = 500 * time.Millisecond

// Handler serves the page, and its data at a path that ends with /data. The data has at most 100 objects in each list
// of a controller, 20 objects for each state of a machine, 500 watches, and 500 rows of a [Table]; texts have at most
// 500 bytes. Create one with [New].
type Handler struct {
	registry *metrics.Registry
	policy   string // the Content-Security-Policy of the page

	mu     sync.Mutex // guards the fields below
	tables []func() Table
	data   []byte // the last document
	made   time.Time
}

// Table is a part of the page that another package has, such as the shards of a program.
type Table struct {
	Title   string
	Columns []string
	Rows    [][]string // each has a text for each column
}

// New returns a page about the parts in a registry.
func New(r *metrics.Registry) *Handler {
	hash := func(element string) string {
		_, rest, _ := strings.Cut(page, "<"+element+">")
		content, _, _ := strings.Cut(rest, "</"+element+">")
		sum := sha256.Sum256([]byte(content))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return &Handler{registry: r, policy: "default-src 'none'; connect-src 'self'; script-src " + hash("script") +
		"; style-src " + hash("style") + "; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"}
}

// AddTable adds a table to the page. The function returns its current content.
func (h *Handler) AddTable(t func() Table) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tables = append(h.tables, t)
}

// ServeHTTP responds with the page or its data.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cache-Control", "no-store")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	switch {
	case isRebound(r):
		http.Error(w, "the host name is not one of this machine: use localhost", http.StatusForbidden)
	case strings.HasSuffix(r.URL.Path, "/data"):
		data, err := h.current()
		if err != nil {
			http.Error(w, "the data can't be encoded", http.StatusInternalServerError)
			return
		}
		header.Set("Content-Type", "application/json")
		_, _ = w.Write(data) // an error means that the client has gone
	default:
		header.Set("Content-Type", "text/html; charset=utf-8")
		header.Set("Content-Security-Policy", h.policy)
		_, _ = w.Write([]byte(page))
	}
}

// isRebound reports whether a request to a loopback address names another host.
func isRebound(r *http.Request) bool {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return false
	}
	addr, err := netip.ParseAddrPort(local.String())
	if err != nil || !addr.Addr().Unmap().IsLoopback() {
		return false
	}
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	_, err = netip.ParseAddr(strings.Trim(host, "[]"))
	return err != nil && host != "localhost" && !strings.HasSuffix(host, ".localhost")
}

// current returns the document as JSON.
func (h *Handler) current() ([]byte, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	if h.data != nil && now.Sub(h.made) < fresh {
		return h.data, nil
	}
	data, err := json.Marshal(newDocument(h.registry.Parts(), h.tables, now)) // escapes <, > and &
	if err != nil {
		return nil, err
	}
	h.data, h.made = data, now
	return data, nil
}
