// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/abi"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/reflector"
)

func TestListSkipsObjectsThatAreDeletedMeanwhile(t *testing.T) {
	refs := make([]core.ObjectRef, 10)
	for n := range refs {
		refs[n] = core.ObjectRef{Namespace: "n", Name: fmt.Sprint("o", n)}
	}
	view := &objects{
		refs: func(string, string) ([]core.ObjectRef, error) { return refs, nil },
		state: func(ref core.ObjectRef) reflector.State {
			if ref.Name < "o3" || ref.Name == "o5" || ref.Name == "o9" {
				return reflector.State{}
			}
			return reflector.StateOf(wire.NewPacked(wire.JSON, fmt.Appendf(nil, "%q", ref.Name)))
		},
		encode: func(s reflector.State) ([]byte, error) { return s.Packed().Bytes(), nil },
	}
	i := &instance{operations: map[int64]*operation{1: {watch: &watch{objects: view, synced: true}}}}
	var names strings.Builder
	for token, pages := "", 0; pages == 0 || token != ""; pages++ {
		data, err := i.list(t.Context(), marshal(abi.List{Watch: 1, Limit: 2, Continue: token}))
		if err != nil || pages > 10 {
			t.Fatalf("page %d: %v", pages, err)
		}
		var page abi.Page
		if err := wire.UnmarshalJSON(data, &page); err != nil {
			t.Fatal(err)
		}
		for _, item := range page.Items {
			names.WriteString(string(item))
		}
		token = page.Continue
	}
	if want := `"o3""o4""o6""o7""o8"`; names.String() != want {
		t.Errorf("the pages have %s, want %s", names.String(), want)
	}
}

func TestListEvaluatesAllTermsOfASelectorAndCanBeInterrupted(t *testing.T) {
	const count = 1000
	refs := make([]core.ObjectRef, count)
	for n := range refs {
		refs[n] = core.ObjectRef{Namespace: "n", Name: fmt.Sprintf("o%04d", n)}
	}
	read, indexed, onRead := 0, "", func() {}
	view := &objects{
		refs: func(_, selector string) ([]core.ObjectRef, error) {
			indexed = selector
			return refs, nil
		},
		state: func(ref core.ObjectRef) reflector.State {
			read++
			onRead()
			return reflector.StateOf(wire.NewPacked(wire.JSON,
				fmt.Appendf(nil, `{"metadata":{"name":%q,"labels":{"name":%q}}}`, ref.Name, ref.Name)))
		},
		encode: func(s reflector.State) ([]byte, error) { return s.Packed().Bytes(), nil },
	}
	i := &instance{operations: map[int64]*operation{1: {watch: &watch{objects: view, synced: true}}}}
	selector := "!a,!b,!c,!d,!e,name in (o0500,o0600)"
	data, err := i.list(t.Context(), marshal(abi.List{Watch: 1, LabelSelector: selector}))
	if err != nil || strings.Count(string(data), `"name":"o0500"}`) != 1 || strings.Count(string(data), "labels") != 2 {
		t.Errorf("the page is %s, %v", data, err)
	}
	if want := "!a,!b,!c,!d"; indexed != want || read != count {
		t.Errorf("the store has evaluated %q, and %d objects were read; want %q and %d", indexed, read, want, count)
	}
	ctx, stop := context.WithCancelCause(t.Context())
	read, onRead = 0, func() { stop(errTimeLimit) }
	if _, err := i.list(ctx, marshal(abi.List{Watch: 1, LabelSelector: selector})); err != errTimeLimit || read > 1 {
		t.Errorf("list = %v after %d objects, want the end of the call after 1", err, read)
	}
	for _, selector := range []string{strings.Repeat("!a,", maxSelector/3) + "!b", "a in ("} {
		if _, err := i.list(t.Context(), marshal(abi.List{Watch: 1, LabelSelector: selector})); err != abi.Invalid {
			t.Errorf("list with a selector of %d bytes = %v, want Invalid", len(selector), err)
		}
	}
}

func TestUnusedWatchesAreForgotten(t *testing.T) {
	s := newShared(nil, &cache.Options{})
	for n := range 10 * keepWatches {
		_, done := s.use(abi.Watch{Kind: fmt.Sprint(n)})
		done()
	}
	if n := len(s.all); n > keepWatches {
		t.Errorf("%d watches without users are kept, want at most %d", n, keepWatches)
	}
	a, done := s.use(abi.Watch{Kind: "used", Projection: abi.ProjectionMetadata})
	s.mu.Lock()
	s.sweep(time.Now().Add(2 * keepWatch))
	n := len(s.all)
	s.mu.Unlock()
	if n != 1 {
		t.Errorf("%d watches are kept, want the one with a user", n)
	}
	if b, again := s.use(abi.Watch{Kind: "used"}); a != b {
		t.Error("two projections of the same objects do not share a watch")
	} else {
		again()
	}
	done()
}
