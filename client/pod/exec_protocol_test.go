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

// TestExecUsesVersion5OnlyForInputOrTerminal checks that Exec offers version 5, in which servers may lose the end of
// the output, only for an input or a terminal, or if the server supports no other version.
func TestExecUsesVersion5OnlyForInputOrTerminal(t *testing.T) {
	// supports returns a server with one protocol. Like API servers, it rejects others with an empty response.
	supports := func(protocol string) http.HandlerFunc {
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
		name    string
		handler http.HandlerFunc
		o       pod.ExecOptions
		want    []string // the offered protocols of each request
		is      error
	}{
		{"an input", supports(v5), pod.ExecOptions{Stdin: true}, []string{v5 + ", " + v4}, nil},
		{"an input on an old server", supports(v4), pod.ExecOptions{Stdin: true}, []string{v5 + ", " + v4}, nil},
		{"a terminal", supports(v5), pod.ExecOptions{TTY: true}, []string{v5 + ", " + v4}, nil},
		{"no input", supports(v4), pod.ExecOptions{}, []string{v4}, nil},
		{"no input on a server with only version 5", supports(v5), pod.ExecOptions{}, []string{v4, v5}, nil},
		{"no input on another server", supports("v6"), pod.ExecOptions{}, []string{v4, v5}, core.ErrForbidden},
		{"no input and no permission to exec", forbidden, pod.ExecOptions{}, []string{v4}, core.ErrForbidden},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := testserver.New(t, tc.handler)
			tc.o.Command = []string{"true"}
			p, err := podsOf(t, s).Exec(t.Context(), "web", &tc.o)
			if err == nil {
				err = p.Wait()
			}
			if !errors.Is(err, tc.is) {
				t.Errorf("Exec() = %v, want %v", err, tc.is)
			}
			var offered []string
			for _, r := range s.Asked() {
				offered = append(offered, r.Header.Get("Sec-WebSocket-Protocol"))
			}
			if diff := cmp.Diff(tc.want, offered); diff != "" {
				t.Errorf("offered protocols (-want +got):\n%s", diff)
			}
		})
	}
}
