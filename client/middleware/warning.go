// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package middleware

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/kube-go/sdk/client/internal/plain"
)

// Warning is a warning that a server sends with a response, for example that an API is deprecated or a field is
// unknown; see https://kubernetes.io/blog/2020/09/03/warnings/.
type Warning struct {
	Code  int    // 299 for warnings of API servers
	Agent string // sender of the warning; API servers send "-"
	Text  string // without control characters
}

// Limits for the warnings of one response.
const (
	maxWarnings     = 64
	maxWarningBytes = 4 << 10
)

// Warnings calls handle with each warning of code 299 in a response, before the response is returned. If handle is nil,
// Warnings returns nil. The context is the context of the request, see [CallOf].
func Warnings(handle func(context.Context, Warning)) Func {
	if handle == nil {
		return nil
	}
	return func(next http.RoundTripper) http.RoundTripper {
		return RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
			resp, err := next.RoundTrip(r)
			if err != nil {
				return nil, err
			}
			for _, w := range parseWarnings(resp.Header) {
				if w.Code == 299 {
					handle(r.Context(), w)
				}
			}
			return resp, nil
		})
	}
}

// maxLogged is the number of logged texts that are remembered.
const maxLogged = 1 << 10

// LogWarnings returns a handler for [Warnings] that logs each text once, at warn level. If logger is nil, it uses
// [slog.Default].
func LogWarnings(logger *slog.Logger) func(context.Context, Warning) {
	if logger == nil {
		logger = slog.Default()
	}
	var mu sync.Mutex // guards logged
	logged := map[string]bool{}
	first := func(text string) bool {
		mu.Lock()
		defer mu.Unlock()
		if logged[text] {
			return false
		}
		if len(logged) >= maxLogged {
			clear(logged)
		}
		logged[text] = true
		return true
	}
	return func(ctx context.Context, w Warning) {
		if first(w.Text) {
			call, _ := CallOf(ctx)
			logger.LogAttrs(ctx, slog.LevelWarn, "the server warns: "+w.Text, call.attr())
		}
	}
}

// parseWarnings returns the warnings in the header of a response, in the format of RFC 7234:
//
//	Warning: 299 - "v1 Endpoints is deprecated", 299 - "unknown field \"x\"" "Sat, 21 Nov 2026 12:00:00 GMT"
//
// If a warning is malformed, the rest of its line is skipped.
func parseWarnings(header http.Header) []Warning {
	var all []Warning
	for _, line := range header.Values("Warning") {
		for len(all) < maxWarnings {
			w, rest, ok := parseWarning(line)
			if !ok {
				break
			}
			all = append(all, w)
			if line = strings.TrimLeft(rest, " \t"); !strings.HasPrefix(line, ",") {
				break
			}
			line = strings.TrimLeft(line, ", \t")
		}
	}
	return all
}

// parseWarning parses one warning and returns the text after it.
func parseWarning(s string) (w Warning, rest string, ok bool) {
	code, s, _ := strings.Cut(strings.TrimLeft(s, " \t"), " ")
	agent, s, found := strings.Cut(s, " ")
	n, err := strconv.ParseUint(code, 10, 16)
	if len(code) != 3 || err != nil || agent == "" || !found {
		return Warning{}, "", false
	}
	text, s, ok := parseQuoted(s)
	if !ok {
		return Warning{}, "", false
	}
	if date, found := strings.CutPrefix(s, ` "`); found {
		if _, s, found = strings.Cut(date, `"`); !found {
			return Warning{}, "", false
		}
	}
	return Warning{Code: int(n), Agent: agent, Text: text}, s, true
}

// parseQuoted parses a quoted string. A backslash escapes the next character.
func parseQuoted(s string) (text, rest string, ok bool) {
	s, ok = strings.CutPrefix(s, `"`)
	if !ok {
		return "", "", false
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			return plain.Line(b.String()), s[i+1:], true
		case '\\':
			if i++; i == len(s) {
				return "", "", false
			}
		}
		if b.Len() < maxWarningBytes {
			b.WriteByte(s[i])
		}
	}
	return "", "", false
}
