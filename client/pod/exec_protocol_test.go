// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package pod_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-go/sdk/client/internal/testserver"
	"github.com/kube-go/sdk/client/pod"
	"github.com/kube-go/sdk/core"
)

// TestExecProtocol promises that only a process with an input or a terminal is asked for by the protocol in which
// servers may lose what comes last, unless a server knows no other.
func TestExecProtocol(t *testing.T) {
	// knows plays a server as they are: what it does not know, it refuses without a word.
	knows := func(protocol string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if !strings.Contains(r.Header.Get("Sec-WebSocket-Protocol"), protocol) {
				w.WriteHeader(http.StatusForbidden)
				return
			}
			upgrades(t, protocol, func(s *socket) { s.end(success) })(w, r)
		}
	}
	forbidden := func(w http.ResponseWriter, _ *http.Request) { testserver.Fail(w, 403, "Forbidden", "no") }
	for _, tc := range []struct {
		name   string
		answer http.HandlerFunc
		o      pod.ExecOptions
		want   []string // what was offered, in each request
		is     error
	}{
		{"an input", knows(v5), pod.ExecOptions{Stdin: true}, []string{v5 + ", " + v4}, nil},
		{"an input, and an old server", knows(v4), pod.ExecOptions{Stdin: true}, []string{v5 + ", " + v4}, nil},
		{"a terminal", knows(v5), pod.ExecOptions{TTY: true}, []string{v5 + ", " + v4}, nil},
		{"no input", knows(v4), pod.ExecOptions{}, []string{v4}, nil},
		{"no input, and a server of the future", knows(v5), pod.ExecOptions{}, []string{v4, v5}, nil},
		{"no input, and a server that knows neither", knows("v6"), pod.ExecOptions{}, []string{v4, v5}, core.ErrForbidden},
		{"no input, and no right to exec", forbidden, pod.ExecOptions{}, []string{v4}, core.ErrForbidden},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := testserver.New(t, tc.answer)
			tc.o.Command = []string{"true"}
			p, err := podsOf(t, s).Exec(t.Context(), "web", &tc.o)
			if err == nil {
				err = p.Wait()
			}
			if !errors.Is(err, tc.is) {
				t.Errorf("Exec() = %v, want %v", err, tc.is)
			}
			var offered []string
			for _, ask := range s.Asked() {
				offered = append(offered, ask.Header.Get("Sec-WebSocket-Protocol"))
			}
			if diff := cmp.Diff(tc.want, offered); diff != "" {
				t.Errorf("offered protocols (-want +got):\n%s", diff)
			}
		})
	}
}
