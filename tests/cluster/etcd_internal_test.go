// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestConcurrentCompactionIsNotAnError(t *testing.T) {
	for _, test := range []struct {
		name, answer string // of etcd
		wantErr      bool
	}{
		{"a later revision", `{"error": "etcdserver: mvcc: required revision has been compacted", "code": 11}`, false},
		{"another error", `{"error": "etcdserver: no space", "code": 8}`, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			etcd := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "/put") {
					_, _ = io.WriteString(w, `{"header": {"revision": "7"}}`)
					return
				}
				w.WriteHeader(http.StatusBadRequest)
				_, _ = io.WriteString(w, test.answer)
			}))
			defer etcd.Close()
			revision, err := compact(t.Context(), etcd.Client(), etcd.URL)
			if revision != "7" || (err != nil) != test.wantErr {
				t.Errorf("compact = %q, %v, want 7, an error: %t", revision, err, test.wantErr)
			}
		})
	}
}
