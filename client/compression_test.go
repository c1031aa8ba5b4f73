// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/internal/testserver"
	"github.com/kube-go/sdk/core"
)

// TestCompressedWatches checks that each event of a compressed watch arrives before the server sends the next one, and
// that the client does not ask for compression if the configuration disables it.
func TestCompressedWatches(t *testing.T) {
	for _, off := range []bool{false, true} {
		received := make(chan struct{})
		s := testserver.New(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", jsonType)
			compressed := r.Header.Get("Accept-Encoding") == "gzip"
			if compressed {
				w.Header().Set("Content-Encoding", "gzip")
			}
			for i := range 3 {
				ev := event(t, jsonType, core.Added, fmt.Sprint("o", i))
				if compressed {
					ev = gzipped(t, ev)
				}
				send(w, ev)
				select {
				case <-received:
				case <-r.Context().Done():
				}
			}
		})
		cfg := s.Config()
		cfg.DisableCompression = off
		n := 0
		maps := client.Namespaced[leanConfigMap](testserver.NewClient(t, &client.Options{Config: cfg}), "prod")
		for ev, err := range maps.WatchOnce(t.Context(), nil) {
			if err != nil || ev.Object.Name != fmt.Sprint("o", n) {
				t.Fatalf("DisableCompression %v: event %d is %+v, %v", off, n, ev, err)
			}
			n++
			received <- struct{}{}
		}
		if asked := s.Asked()[0].Header.Get("Accept-Encoding"); n != 3 || (asked == "gzip") == off {
			t.Errorf("DisableCompression %v: %d events, want 3; Accept-Encoding is %q", off, n, asked)
		}
	}
}
