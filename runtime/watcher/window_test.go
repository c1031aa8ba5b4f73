// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package watcher_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/internal/fakesource"
	"github.com/kube-go/sdk/runtime/watcher"
)

// shardSource is a source whose server selects by shard, or ignores the shard like a server without the feature, which
// a client's feed reports.
type shardSource struct {
	*fakesource.Server
	ignores bool

	mu   sync.Mutex // guards sent
	sent []string   // the selectors of the requests
}

func (s *shardSource) note(verb, fields, shard string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = append(s.sent, strings.TrimSpace(verb+" "+fields+shard))
}

// requests returns the number of requests whose selectors contain a text.
func (s *shardSource) requests(text string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.sent {
		if strings.Contains(one, text) {
			n++
		}
	}
	return n
}

// sends reports whether the server sends an object.
func (s *shardSource) sends(p wire.Packed, fields, selector string) (bool, error) {
	if strings.Contains(fields, "!=") {
		return false, nil
	}
	if selector == "" {
		return true, nil
	}
	shard, err := core.ParseShard(selector)
	if err != nil {
		return false, err
	}
	head, err := p.Head()
	if err != nil || shard.Has(head.UID, head.Ref.Namespace) {
		return err == nil, err
	}
	if s.ignores {
		return false, fmt.Errorf("list: %w", core.ErrNotAcceptable)
	}
	return false, nil
}

func (s *shardSource) List(
	ctx context.Context, o *request.ListOptions, each func(wire.Packed) error,
) (metav1.ListMeta, error) {
	s.note("list", o.FieldSelector, o.ShardSelector)
	return s.Server.List(ctx, o, func(p wire.Packed) error {
		ok, err := s.sends(p, o.FieldSelector, o.ShardSelector)
		if !ok {
			return err
		}
		return each(p)
	})
}

func (s *shardSource) Watch(ctx context.Context, o *request.WatchOptions) (iter.Seq2[wire.Event, error], error) {
	s.note("watch", o.FieldSelector, o.ShardSelector)
	events, err := s.Server.Watch(ctx, o)
	if err != nil {
		return nil, err
	}
	return func(yield func(wire.Event, error) bool) {
		for ev, err := range events {
			ok := true
			if err == nil && ev.Type != core.Bookmark {
				ok, err = s.sends(ev.Object, o.FieldSelector, o.ShardSelector)
			}
			if (ok || err != nil) && (!yield(ev, err) || err != nil) {
				return
			}
		}
	}, nil
}

// shards is a shard that a test changes.
type shards struct {
	mu     sync.Mutex // guards the fields below
	shard  *core.Shard
	valid  context.Context //nolint:containedctx // of the shard
	end    context.CancelFunc
	listed []string // the shards whose lists are complete
	begun  string
}

func newShards(shard *core.Shard) *shards {
	s := &shards{shard: shard}
	s.valid, s.end = context.WithCancel(context.Background())
	return s
}

func (s *shards) List() (*core.Shard, context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun = s.shard.String()
	return s.shard, s.valid
}

func (s *shards) Listed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listed = append(s.listed, s.begun)
}

func (s *shards) move(shard *core.Shard) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shard = shard
	s.end()
	s.valid, s.end = context.WithCancel(context.Background())
}

// windowTest watches 40 objects through a window.
type windowTest struct {
	t      *testing.T
	source *shardSource
	shards *shards
	mu     sync.Mutex // guards the fields below
	state  map[string]bool
	next   map[string]bool // of a list; nil outside
	errs   []error
	status watcher.Status
	lists  int
}

func watchWindow(t *testing.T, ignores bool, streaming fakesource.Streaming, shard *core.Shard) *windowTest {
	t.Helper()
	server := newServer(t)
	server.SpreadUIDs()
	server.Behave(fakesource.Behaviour{Streaming: streaming})
	for i := range 40 {
		server.Put(configMap(fmt.Sprint("cm-", i)))
	}
	w := &windowTest{
		t: t, source: &shardSource{Server: server, ignores: ignores}, shards: newShards(shard), state: map[string]bool{},
	}
	window := new(watcher.Window)
	window.Set(w.shards)
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(stop)
	go func() {
		for ev, err := range watcher.Events(ctx, w.source, &watcher.Options{
			Window: window, PageSize: 7, OnError: func(err error) {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.errs = append(w.errs, err)
			}, OnStatus: func(st watcher.Status) {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.status = st
			},
		}) {
			if err != nil {
				return
			}
			w.take(ev)
		}
	}()
	synctest.Wait()
	return w
}

func (w *windowTest) take(ev watcher.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch ev.Type {
	case watcher.Init:
		w.next = map[string]bool{}
	case watcher.InitApply:
		w.next[ev.Head.Ref.Name] = true
	case watcher.InitDone:
		w.state, w.next, w.lists = w.next, nil, w.lists+1
	case watcher.Apply:
		w.state[ev.Head.Ref.Name] = true
	case watcher.Delete:
		delete(w.state, ev.Head.Ref.Name)
	case watcher.Bookmark:
	}
}

// want checks that the consumer has exactly the objects of a shard.
func (w *windowTest) want(shard *core.Shard, lists int) {
	w.t.Helper()
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.shards.mu.Lock()
	defer w.shards.mu.Unlock()
	for ref, head := range w.source.Objects() {
		if has := shard.Has(head.UID, ref.Namespace); has != w.state[ref.Name] {
			w.t.Errorf("the consumer has %s: %v, want %v", ref.Name, !has, has)
		}
	}
	listed := w.shards.listed
	if len(listed) != lists || w.lists != lists || listed[lists-1] != shard.String() {
		w.t.Errorf("%d lists, and %d were reported for the shards %q, want %d", w.lists, len(listed), listed, lists)
	}
}

// wantAll checks what the status says about the objects of other shards.
func (w *windowTest) wantAll(all bool) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.status.AllShards != all {
		w.t.Errorf("the status is %+v, want AllShards = %v", w.status, all)
	}
}

func shardOf(t *testing.T, i int) *core.Shard {
	t.Helper()
	shard, err := core.ShardOf(i, 4)
	if err != nil {
		t.Fatal(err)
	}
	return shard
}

func TestWindowListsAgainWhenItMoves(t *testing.T) {
	for _, ignores := range []bool{false, true} {
		for _, streaming := range []fakesource.Streaming{fakesource.Supported, fakesource.Rejected} {
			synctest.Test(t, func(t *testing.T) {
				first, second := shardOf(t, 1), shardOf(t, 2)
				w := watchWindow(t, ignores, streaming, first)
				w.want(first, 1)
				w.wantAll(ignores)
				for i := range 20 {
					w.source.Put(configMap(fmt.Sprint("new-", i)))
					w.source.Delete(core.ObjectRef{Namespace: "prod", Name: fmt.Sprint("cm-", i)})
				}
				w.want(first, 1)
				w.shards.move(second)
				w.want(second, 2)
				for i := range 20 {
					w.source.Put(configMap(fmt.Sprint("newer-", i)))
				}
				w.want(second, 2)
				w.wantAll(ignores)
				w.shards.move(new(core.Shard))
				w.want(new(core.Shard), 3)
				w.wantAll(false)
				if n := w.source.requests("metadata.name=none,metadata.name!=none"); n == 0 {
					t.Error("no request selects no objects")
				}
				w.mu.Lock()
				defer w.mu.Unlock()
				switch n := w.source.requests("shardRange"); {
				case !ignores && (len(w.errs) > 0 || n < 2):
					t.Errorf("%d requests with a shard, and the errors %v", n, w.errs)
				case ignores && (len(w.errs) != 1 || !errors.Is(w.errs[0], core.ErrNotAcceptable) || n > 2):
					t.Errorf("%d requests with a shard, and the errors %v, want one", n, w.errs)
				}
			})
		}
	}
}

// TestObjectsOfOtherShardsAreProgress checks that the watch of a server that does not select by shard resumes after the
// newest object, also if that is of another shard.
func TestObjectsOfOtherShardsAreProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shard := shardOf(t, 1)
		w := watchWindow(t, true, fakesource.Supported, shard)
		newest, begun := "", time.Now()
		for ref, head := range w.source.Objects() {
			if !shard.Has(head.UID, ref.Namespace) && time.Since(begun) < 4*time.Minute { // the first watch ends later
				time.Sleep(20 * time.Second) // longer than the interval of equal statuses
				newest = w.source.Put(configMap(ref.Name))
			}
		}
		synctest.Wait()
		w.mu.Lock()
		status := w.status
		w.mu.Unlock()
		if status.ResourceVersion != newest || !status.LastData.Equal(time.Now()) {
			t.Errorf("the status is %+v, want the version %s and the time %v", status, newest, time.Now())
		}
		w.source.Requests()
		w.source.Cut(io.ErrUnexpectedEOF)
		time.Sleep(time.Minute)
		if got := w.source.Requests(); !slices.Contains(got, "watch rv="+newest) {
			t.Errorf("the requests after a broken watch are %q, want a watch after %s", got, newest)
		}
		w.want(shard, 1)
	})
}

func TestWindowThatMovesDuringAListStartsItAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := shardOf(t, 1), shardOf(t, 2)
		w := watchWindow(t, false, fakesource.Supported, first)
		moved := false
		w.source.Behave(fakesource.Behaviour{
			Streaming: fakesource.Rejected,
			OnItem: func(p wire.Packed) (wire.Packed, error) {
				if !moved {
					moved = true
					w.shards.move(second)
				}
				return p, nil
			},
		})
		w.shards.move(shardOf(t, 3))
		w.want(second, 2)
	})
}

func TestWindowWithoutShardsIsAnError(t *testing.T) {
	set := new(watcher.Window)
	set.Set(newShards(new(core.Shard)))
	for _, o := range []watcher.Options{
		{Window: new(watcher.Window)},
		{Window: set, ShardSelector: shardOf(t, 0).String()},
		{Window: set, ResourceVersion: "7"},
	} {
		for _, err := range watcher.Events(t.Context(), newServer(t), &o) {
			if err == nil || !strings.Contains(err.Error(), "Selection.Sharded") {
				t.Errorf("got %v, want an error that names the option", err)
			}
		}
	}
}
