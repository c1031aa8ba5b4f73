// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-go/sdk/client/middleware"
)

// TestWarnings checks that a handler receives the warnings of API servers, with the call that they belong to.
func TestWarnings(t *testing.T) {
	s := &script{steps: []step{
		{status: 404, header: http.Header{"Warning": {`299 - "a"`, `199 - "another code"`}}},
		{err: reset},
	}}
	var heard []string
	rt := middleware.Warnings(func(ctx context.Context, w middleware.Warning) {
		c, _ := middleware.CallOf(ctx)
		heard = append(heard, c.Verb+" "+c.Resource+": "+w.Text)
	})(s)
	if status, _, err := call(t.Context(), rt, get, ""); status != 404 || err != nil {
		t.Errorf("response = %d, %v; want 404", status, err)
	}
	if _, _, err := call(t.Context(), rt, get, ""); err == nil {
		t.Error("no error")
	}
	if diff := cmp.Diff([]string{"get pods: a"}, heard); diff != "" {
		t.Errorf("heard (-want +got):\n%s", diff)
	}
	if middleware.Warnings(nil) != nil {
		t.Error("Warnings(nil) is not nil")
	}
}

// TestLogWarnings checks that each text is logged once, and that the memory for texts is limited.
func TestLogWarnings(t *testing.T) {
	var out bytes.Buffer
	log := middleware.LogWarnings(slog.New(slog.NewTextHandler(&out, nil)))
	ctx := middleware.WithCall(t.Context(), get)
	for range 3 {
		log(ctx, middleware.Warning{Code: 299, Text: "v1 Endpoints is deprecated"})
	}
	if got, want := stripTime(out.String()), "level=WARN msg=\"the server warns: v1 Endpoints is deprecated\" "+
		"call.verb=get call.resource=pods\n"; got != want {
		t.Errorf("log = %q, want %q", got, want)
	}
	for i := range 3000 {
		log(ctx, middleware.Warning{Text: fmt.Sprint(i)})
	}
	out.Reset()
	if log(ctx, middleware.Warning{Text: "v1 Endpoints is deprecated"}); out.Len() == 0 {
		t.Error("a text is still remembered after 3000 others")
	}
	out.Reset()
	before := slog.Default()
	defer slog.SetDefault(before)
	slog.SetDefault(slog.New(slog.NewTextHandler(&out, nil)))
	middleware.LogWarnings(nil)(t.Context(), middleware.Warning{Text: "of the default"})
	if !strings.Contains(out.String(), "of the default") {
		t.Errorf("the default logger has %q, want the warning", &out)
	}
}
