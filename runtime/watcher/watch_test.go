// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package watcher_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/internal/fakesource"
	"github.com/kube-go/sdk/runtime/watcher"
)

// follow receives the events of a typed watch one at a time, when the test asks for them.
func follow(
	t *testing.T, server *fakesource.Server, o *watcher.WatchOptions,
) (want func(events ...string), stop context.CancelCauseFunc) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	next, end := iter.Pull2(watcher.Watch[corev1.ConfigMap](ctx, server, o))
	t.Cleanup(end)
	return func(events ...string) {
		t.Helper()
		for _, want := range events {
			ev, err, _ := next()
			got := fmt.Sprint(err)
			if err == nil {
				got = fmt.Sprintf("%s %s %s@%s", ev.Type, ev.Object.Name, ev.Object.UID, ev.Object.ResourceVersion)
				if ev.Type == core.Bookmark {
					got = fmt.Sprintf("BOOKMARK@%s %v", ev.Object.ResourceVersion, core.InitialEventsEnd(ev.Object))
				}
				if ev.Object.Kind != "ConfigMap" || ev.Object.APIVersion != "v1" {
					t.Errorf("%s of kind %s %s", got, ev.Object.APIVersion, ev.Object.Kind)
				}
			}
			if got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
	}, cancel
}

func TestWatchYieldsExistingObjectsThenChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, "a", "b")
		server.Behave(fakesource.Behaviour{Bookmarks: time.Minute})
		want, stop := follow(t, server, nil)
		want("ADDED a uid-1@2", "ADDED b uid-2@3", "BOOKMARK@3 true")
		server.Put(configMap("a"))
		server.Put(configMap("c"))
		server.Delete(core.ObjectRef{Namespace: "prod", Name: "b"})
		want("MODIFIED a uid-1@4", "ADDED c uid-3@5", "DELETED b uid-2@6", "BOOKMARK@6 false")
		stop(errStop)
		want("the test is over")
	})
}

func TestWatchYieldsMissedChangesAfterANewList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, "same", "changed", "replaced", "gone")
		want, _ := follow(t, server, nil)
		want("ADDED changed uid-2@3", "ADDED gone uid-4@5", "ADDED replaced uid-3@4", "ADDED same uid-1@2", "BOOKMARK@5 true")

		// The consumer does not request events, so the watch is cut before it reads these.
		server.Put(configMap("changed"))
		server.Delete(core.ObjectRef{Namespace: "prod", Name: "replaced"})
		server.Put(configMap("replaced"))
		server.Delete(core.ObjectRef{Namespace: "prod", Name: "gone"})
		server.Put(configMap("new"))
		server.Compact()
		server.Behave(fakesource.Behaviour{DropOnCut: true})
		server.Cut(fakesource.Expired())
		want(
			"MODIFIED changed uid-2@6", "ADDED new uid-6@10",
			"DELETED replaced uid-3@4", "ADDED replaced uid-5@8",
			"DELETED gone uid-4@5", "BOOKMARK@11 true",
		)
	})
}

// TestWatchIgnoresTheMissingKindOfListItems checks that an object is unchanged although a watch has sent it with its
// kind and apiVersion, which servers omit from the items of a list.
func TestWatchIgnoresTheMissingKindOfListItems(t *testing.T) {
	const kind = `"kind":"ConfigMap","apiVersion":"v1",`
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, "a", "b")
		server.Behave(fakesource.Behaviour{DropOnCut: true, OnItem: func(p wire.Packed) (wire.Packed, error) {
			return wire.NewPacked(wire.JSON, bytes.Replace(p.Bytes(), []byte(kind), nil, 1)), nil
		}})
		want, _ := follow(t, server, &watcher.WatchOptions{Paged: true})
		want("ADDED a uid-1@2", "ADDED b uid-2@3", "BOOKMARK@3 true")
		b := configMap("b")
		b.Kind, b.APIVersion = "ConfigMap", "v1"
		if p, err := wire.Pack(b, wire.JSON); err != nil || !bytes.Contains(p.Bytes(), []byte(kind)) {
			t.Fatalf("Pack = %s, %v, want a kind", p.Bytes(), err)
		}
		server.Put(b)
		want("MODIFIED b uid-2@4")
		server.Compact()
		server.Cut(fakesource.Expired())
		want("BOOKMARK@5 true")
	})
}

func TestWatchNoticesOtherContentWithTheSameVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, "a", "b")
		want, _ := follow(t, server, &watcher.WatchOptions{Paged: true})
		want("ADDED a uid-1@2", "ADDED b uid-2@3", "BOOKMARK@3 true")
		restored := `{"metadata":{"namespace":"prod","name":"a","uid":"uid-1","resourceVersion":"2"},"data":{"from":"a backup"}}`
		server.Behave(fakesource.Behaviour{OnItem: func(p wire.Packed) (wire.Packed, error) {
			if head, _ := p.Head(); head.Ref.Name == "a" {
				return wire.NewPacked(wire.JSON, []byte(restored)), nil
			}
			return p, nil
		}})
		server.Put(configMap("b"))
		server.Compact()
		want("MODIFIED a uid-1@2", "MODIFIED b uid-2@4", "BOOKMARK@5 true")
	})
}

func TestWatchSkipsObjectsThatCannotBeDecoded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, "a", "b")
		bad := `{"metadata":{"namespace":"prod","name":"a","uid":"uid-1","resourceVersion":"2"},"data":[]}`
		server.Behave(fakesource.Behaviour{OnItem: func(p wire.Packed) (wire.Packed, error) {
			if head, _ := p.Head(); head.Ref.Name == "a" {
				return wire.NewPacked(wire.JSON, []byte(bad)), nil
			}
			return p, nil
		}})
		var reported []error
		want, _ := follow(t, server, &watcher.WatchOptions{
			Paged: true, OnError: func(err error) { reported = append(reported, err) },
		})
		want("ADDED b uid-2@3", "BOOKMARK@3 true")
		if len(reported) != 1 || !strings.HasPrefix(reported[0].Error(), "skip configmaps prod/a: decode json: ") {
			t.Errorf("reported %v", reported)
		}
		server.Put(configMap("a")) // it is new to the consumer
		server.Delete(core.ObjectRef{Namespace: "prod", Name: "a"})
		want("ADDED a uid-1@4", "DELETED a uid-1@5")
	})
}

func TestWatchEndsAtBreak(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, "a", "b")
		events := watcher.Watch[corev1.ConfigMap](t.Context(), server, nil)
		for stopAt := 1; stopAt <= 3; stopAt++ {
			n := 0
			for _, err := range events {
				if err != nil {
					t.Fatal(err)
				}
				if n++; n == stopAt {
					break
				}
			}
			if open := server.Open(); open != 0 {
				t.Errorf("%d watches are open after break", open)
			}
		}
	})
}

func TestWatchKeepsAnObjectThatCanNoLongerBeDecoded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, "a", "b")
		want, _ := follow(t, server, &watcher.WatchOptions{Paged: true})
		want("ADDED a uid-1@2", "ADDED b uid-2@3", "BOOKMARK@3 true")
		bad := `{"metadata":{"namespace":"prod","name":"a","uid":"uid-1","resourceVersion":"4"},"data":[]}`
		server.Behave(fakesource.Behaviour{
			OnWatch: func(*request.WatchOptions) error { return fakesource.Expired() },
			OnItem: func(wire.Packed) (wire.Packed, error) {
				server.Behave(fakesource.Behaviour{}) // from the second object on
				return wire.NewPacked(wire.JSON, []byte(bad)), nil
			},
		})
		want("BOOKMARK@3 true") // a has not been deleted
		server.Delete(core.ObjectRef{Namespace: "prod", Name: "a"})
		want("DELETED a uid-1@4")
	})
}

func TestWatchLogsFailuresByDefault(t *testing.T) {
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(before)
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		server.Put(configMap("a"))
		failed := false
		server.Behave(fakesource.Behaviour{OnWatch: func(*request.WatchOptions) error {
			if failed {
				return nil
			}
			failed = true
			return errors.New("no connection")
		}})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for ev, err := range watcher.Watch[corev1.ConfigMap](ctx, server, nil) {
			if err != nil || ev.Type == core.Added {
				break
			}
		}
	})
	if got := log.String(); !strings.Contains(got, "resource=configmaps") || !strings.Contains(got, "no connection") {
		t.Errorf("log = %q, want the resource and the error", got)
	}
}

// aging is a source of the row of one object, whose age changes, and which must be listed twice.
type aging struct{ lists int }

func (*aging) Resource() core.Resource {
	return core.Resource{Version: "v1", Kind: "ConfigMap", Plural: "configmaps", Namespaced: true}
}

func (a *aging) List(
	_ context.Context, _ *request.ListOptions, each func(wire.Packed) error,
) (metav1.ListMeta, error) {
	a.lists++
	row := fmt.Sprintf(`{"metadata":{"name":"a","namespace":"prod","uid":"u","resourceVersion":"5"},
		"columns":[{"name":"Name"},{"name":"Age"}],"cells":["a","%dm"]}`, a.lists)
	return metav1.ListMeta{ResourceVersion: "7"}, each(wire.NewPacked(wire.JSON, []byte(row)))
}

func (a *aging) Watch(ctx context.Context, _ *request.WatchOptions) (iter.Seq2[wire.Event, error], error) {
	if a.lists == 1 {
		return nil, fakesource.Expired()
	}
	return func(func(wire.Event, error) bool) { <-ctx.Done() }, nil
}

// TestWatchReportsObjectsThatAreNoRows checks that a source of objects is an error, and does not look like empty rows.
func TestWatchReportsObjectsThatAreNoRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		var last error
		for ev, err := range watcher.Watch[core.Row](ctx, newServer(t, "a"), &watcher.WatchOptions{OnError: cancel}) {
			if last = err; err == nil && ev.Type != core.Bookmark {
				t.Errorf("%s of %s", ev.Type, ev.Object.Name)
			}
		}
		if last == nil || !strings.Contains(last.Error(), "pass the feed of client.API.Rows") {
			t.Errorf("error = %v", last)
		}
	})
}

// TestWatchIgnoresTheAgeOfRows checks that a row is unchanged after a new list if its object is.
func TestWatchIgnoresTheAgeOfRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var got []string
		o := &watcher.WatchOptions{Paged: true, OnError: func(error) {}}
		for ev, err := range watcher.Watch[core.Row](ctx, new(aging), o) {
			if err != nil {
				break
			}
			got = append(got, fmt.Sprint(ev.Type, ev.Object.Cells))
			if len(got) == 3 {
				time.AfterFunc(time.Minute, cancel)
			}
		}
		if fmt.Sprint(got) != "[ADDED[a 1m] BOOKMARK[] BOOKMARK[]]" {
			t.Errorf("events = %v", got)
		}
	})
}
