// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package pod_test

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kube-go/sdk/client/internal/testserver"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
)

// at returns the time of a log line, in seconds after a fixed time.
func at(seconds int) string {
	return time.Date(2026, 1, 1, 0, 0, seconds, 5, time.UTC).Format(time.RFC3339Nano)
}

func TestLogsReturnsBytesAndLines(t *testing.T) {
	s := testserver.New(t, func(w http.ResponseWriter, r *http.Request) {
		testserver.Reply(w, 200, "text/plain", []byte(r.URL.RequestURI()+"\n"+at(1)+" one"))
	})
	pods := podsOf(t, s)
	body, err := pods.Logs(t.Context(), "web", &request.LogOptions{Container: "main", TailLines: new(int64(3))})
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	got, err := io.ReadAll(body)
	if want := "/api/v1/namespaces/prod/pods/web/log?container=main&tailLines=3\n" + at(1) + " one"; string(got) != want || err != nil {
		t.Errorf("Logs() = %q, %v, want %q", got, err, want)
	}
	n := 0
	for line, err := range pods.LogLines(t.Context(), "web", &request.LogOptions{Timestamps: true}) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n == 2 && (line.Text != "one" || line.Time.Second() != 1 || line.Pod.String() != "prod/web") {
			t.Errorf("line = %+v, want one of prod/web", line)
		}
	}
	if n != 2 {
		t.Errorf("LogLines() yielded %d lines, want 2", n)
	}
}

// TestLogLinesReturnsReasonForEnd checks that LogLines yields the reason why a log ended early.
func TestLogLinesReturnsReasonForEnd(t *testing.T) {
	for _, tc := range []struct {
		name    string
		handler http.HandlerFunc
		want    string
		is      error
	}{
		{
			"by an absent pod", func(w http.ResponseWriter, _ *http.Request) { testserver.Fail(w, 404, "NotFound", "") },
			"logs pods prod/web: not found", core.ErrNotFound,
		},
		{
			"by a connection that breaks", func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, "one\ntw")
				w.(http.Flusher).Flush()
				panic(http.ErrAbortHandler)
			}, "logs pods prod/web: connection broke", io.ErrUnexpectedEOF,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := testserver.New(t, tc.handler)
			s.Server.Config.ErrorLog = log.New(io.Discard, "", 0)
			var last error
			for line, err := range podsOf(t, s).LogLines(t.Context(), "web", &request.LogOptions{Follow: true}) {
				if last = err; err == nil && line.Text != "one" {
					t.Errorf("line = %q, want one", line.Text)
				}
			}
			if last == nil || !strings.Contains(last.Error(), tc.want) || !errors.Is(last, tc.is) {
				t.Errorf("error = %v, want %q", last, tc.want)
			}
		})
	}
	t.Run("by its context", func(t *testing.T) {
		s := testserver.New(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "one\n")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		})
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		cause := errors.New("enough")
		for line, err := range podsOf(t, s).LogLines(ctx, "web", &request.LogOptions{Follow: true}) {
			if cancel(cause); err != nil && !errors.Is(err, cause) {
				t.Errorf("line = %v, %v, want %v", line, err, cause)
			}
		}
	})
}
