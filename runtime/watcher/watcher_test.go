// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package watcher_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/internal/fakesource"
	"github.com/kube-go/sdk/runtime/watcher"
)

func TestObjectWithoutANameIsSkipped(t *testing.T) {
	for _, bytes := range []string{`{"metadata":{"resourceVersion":"2"}}`, `{"metadata":[]}`, `{"metadata":{"name":}}`} {
		synctest.Test(t, func(t *testing.T) {
			server := newServer(t, "a", "b")
			server.Behave(fakesource.Behaviour{OnItem: func(p wire.Packed) (wire.Packed, error) {
				server.Behave(fakesource.Behaviour{})
				return wire.NewPacked(wire.JSON, []byte(bytes)), nil
			}})
			r := record(t, server, watcher.Options{Paged: true})
			r.want("Init, InitApply b@3, InitDone@3", "list limit=500, watch rv=3")
			r.wantErrors("skip an object of configmaps")
		})
	}
}

func TestEveryRequestHasTheOptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		requests := 0
		const shard = "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')"
		check := func(labels, fields, shards string, omit bool) {
			if requests++; labels != "app=web" || fields != "metadata.name=a" || shards != shard || !omit {
				t.Errorf("selectors %q, %q and %q, omit managed fields: %v", labels, fields, shards, omit)
			}
		}
		server.Behave(fakesource.Behaviour{
			Streaming: fakesource.Rejected,
			OnList: func(o *request.ListOptions) error {
				check(o.LabelSelector, o.FieldSelector, o.ShardSelector, o.OmitManagedFields)
				return nil
			},
			OnWatch: func(o *request.WatchOptions) error {
				check(o.LabelSelector, o.FieldSelector, o.ShardSelector, o.OmitManagedFields)
				return nil
			},
		})
		record(t, server, watcher.Options{
			LabelSelector: "app=web", FieldSelector: "metadata.name=a", ShardSelector: shard, OmitManagedFields: true,
		})
		if requests != 3 {
			t.Errorf("%d requests, want stream, list and watch", requests)
		}
	})
}

func TestSequenceEndsWithTheCauseOfItsContext(t *testing.T) {
	states := map[string]func(*fakesource.Server){
		"while watching": func(*fakesource.Server) {},
		"while waiting before a retry": func(s *fakesource.Server) {
			s.Behave(fakesource.Behaviour{OnWatch: func(*request.WatchOptions) error { return fakesource.Status(500, metav1.StatusReasonInternalError) }})
		},
		"while a streaming list is sent": func(s *fakesource.Server) { s.Behave(fakesource.Behaviour{Streaming: fakesource.Ignored}) },
	}
	for name, prepare := range states {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := newServer(t, "a")
				prepare(server)
				r := record(t, server, watcher.Options{})
				r.stop(errStop)
				if err := <-r.ended; err != errStop {
					t.Errorf("ended with %v, want the cause", err)
				}
				if n := server.Open(); n != 0 {
					t.Errorf("%d watches are still open", n)
				}
			})
		})
	}
	t.Run("before it begins", func(t *testing.T) {
		ctx, stop := context.WithCancelCause(t.Context())
		stop(errStop)
		server := newServer(t, "a")
		wantCause(t, watcher.Events(ctx, server, nil))
	})
}

func TestSequenceEndsWhenCancelledWithinTheLoop(t *testing.T) {
	for _, paged := range []bool{false, true} {
		ctx, stop := context.WithCancelCause(t.Context())
		defer stop(nil)
		var got []string
		for ev, err := range watcher.Events(ctx, deafSource{newServer(t, "a", "b")}, &watcher.Options{Paged: paged}) {
			stop(errStop)
			got = append(got, fmt.Sprintf("%v %v", ev.Type, err))
		}
		want := "[Init <nil> InitApply <nil> EventType(0) the test is over]"
		if fmt.Sprint(got) != want {
			t.Errorf("paged %v: got %v, want %v", paged, got, want)
		}
	}
}

func TestBreakReleasesTheConnection(t *testing.T) {
	for _, paged := range []bool{false, true} {
		for stopAt := 1; stopAt <= 5; stopAt++ {
			synctest.Test(t, func(t *testing.T) {
				server := newServer(t, "a", "b")
				events := 0
				for _, err := range watcher.Events(t.Context(), server, &watcher.Options{Paged: paged}) {
					if err != nil {
						t.Fatal(err)
					}
					if events++; events == 4 {
						server.Put(configMap("c"))
					}
					if events == stopAt {
						break
					}
				}
				if n := server.Open(); n != 0 {
					t.Errorf("paged %v: %d watches are open after break at event %d", paged, n, stopAt)
				}
			})
		}
	}
}

func TestRequestThatCannotBeSentEndsTheSequence(t *testing.T) {
	for _, fatal := range []error{
		&request.InvalidError{Field: "namespace", Detail: "is empty"},
		&core.UnknownKindError{Type: "main.Widget"},
	} {
		synctest.Test(t, func(t *testing.T) {
			server := newServer(t)
			server.Behave(fakesource.Behaviour{OnWatch: func(*request.WatchOptions) error { return fmt.Errorf("watch configmaps: %w", fatal) }})
			r := record(t, server, watcher.Options{})
			if err := <-r.ended; !errors.Is(err, fatal) {
				t.Errorf("ended with %v, want %v", err, fatal)
			}
			r.want("", "stream")
			r.wantErrors()
		})
	}
}

func TestSequenceStartsAgainWhenRangedOverAgain(t *testing.T) {
	server := newServer(t, "a")
	events := watcher.Events(t.Context(), server, nil)
	for range 2 {
		var got []string
		for ev, err := range events {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, describe(ev))
			if ev.Type == watcher.InitDone {
				break
			}
		}
		if want := "[Init InitApply a@2 InitDone@2]"; fmt.Sprint(got) != want {
			t.Errorf("got %v, want %v", got, want)
		}
	}
}

// deafSource sends its objects, even when the request's context has ended.
type deafSource struct{ *fakesource.Server }

func (s deafSource) List(_ context.Context, o *request.ListOptions, each func(wire.Packed) error) (metav1.ListMeta, error) {
	return s.Server.List(context.Background(), o, each)
}

func (s deafSource) Watch(_ context.Context, o *request.WatchOptions) (iter.Seq2[wire.Event, error], error) {
	return s.Server.Watch(context.Background(), o)
}

func TestRequestsAreReleased(t *testing.T) {
	src := &stuckSource{Server: newServer(t)}
	for _, err := range watcher.Events(t.Context(), src, nil) {
		if err != nil {
			t.Fatal(err)
		}
		break
	}
	if len(src.requests) != 1 || src.requests[0].Err() == nil {
		t.Error("the context of the request has not ended after the loop")
	}
}

// manyErrors can't be compared, like the aggregated errors of some libraries.
type manyErrors []error

func (m manyErrors) Error() string { return fmt.Sprint([]error(m)) }

func TestErrorsOfAnyTypeAreReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		server.Behave(fakesource.Behaviour{OnWatch: func(*request.WatchOptions) error { return manyErrors{io.EOF} }})
		r := record(t, server, watcher.Options{})
		r.want("", "stream")
		r.wantErrors("[EOF]")
	})
}
