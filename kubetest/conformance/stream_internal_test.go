// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"io"
	"slices"
	"strings"
	"testing"
)

func TestStreamsOmitBookmarksThatServersMaySendAtAnyTime(t *testing.T) {
	body := `{"type":"ADDED","object":{"metadata":{"name":"a"}}}
{"type":"BOOKMARK","object":{"metadata":{"annotations":{"k8s.io/initial-events-end":"true"},"resourceVersion":"5"}}}
{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"5"}}}
{"type":"DELETED","object":{"metadata":{"name":"a"}}}
`
	events := make(chan watchEvent, 4)
	decode(io.NopCloser(strings.NewReader(body)), events)
	var got []string
	for e := range events {
		got = append(got, e.Type)
	}
	if want := []string{"ADDED", "BOOKMARK", "DELETED"}; !slices.Equal(got, want) {
		t.Errorf("events = %q, want %q", got, want)
	}
}
