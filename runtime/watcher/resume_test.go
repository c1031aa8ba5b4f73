// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package watcher_test

import (
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/runtime/internal/fakesource"
	"github.com/kube-go/sdk/runtime/watcher"
)

func TestWatchResumesAfterANormalEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, "a")
		r := record(t, server, watcher.Options{Timeout: 5 * time.Minute})
		r.want("Init, InitApply a@2, InitDone@2", "stream")
		time.Sleep(5 * time.Minute)
		r.want("", "watch rv=2")
		server.Put(configMap("b"))
		time.Sleep(time.Second)
		server.Cut(nil)
		r.want("Apply b@3", "watch rv=3")
		r.wantErrors()
	})
}

func TestSequenceResumesFromAStoredVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, "a", "b")
		server.Delete(core.ObjectRef{Namespace: "prod", Name: "a"})
		r := record(t, server, watcher.Options{ResourceVersion: "3"})
		r.want("Delete a@4", "watch rv=3")
		server.Put(configMap("c"))
		time.Sleep(time.Second)
		server.Cut(nil)
		r.want("Apply c@5", "watch rv=5")
		r.wantErrors()
	})
}

func TestStoredVersionThatHasExpiredIsListedImmediately(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, "a")
		server.Compact()
		r := record(t, server, watcher.Options{ResourceVersion: "2"})
		r.want("Init, InitApply a@2, InitDone@3", "watch rv=2, stream")
		r.wantErrors(core.ErrExpired)

		server.Compact() // a later expiry is a failure
		time.Sleep(time.Second)
		server.Cut(fakesource.Expired())
		r.want("", "")
		time.Sleep(2 * time.Second)
		r.want("Init, InitApply a@2, InitDone@4", "stream")
	})
}

func TestNegativeOptionsAreErrors(t *testing.T) {
	for field, o := range map[string]watcher.Options{"PageSize": {PageSize: -1}, "Timeout": {Timeout: -1}} {
		for _, err := range watcher.Events(t.Context(), newServer(t, "a"), &o) {
			if invalid, ok := errors.AsType[*request.InvalidError](err); !ok || invalid.Field != "watcher.Options."+field {
				t.Fatalf("Events with a negative %s: %v, want an InvalidError", field, err)
			}
		}
	}
}

// TestNegativeOptionsOfWatchAreErrors checks that the errors name the options of Watch.
func TestNegativeOptionsOfWatchAreErrors(t *testing.T) {
	for field, o := range map[string]watcher.WatchOptions{
		"watcher.WatchOptions.PageSize": {PageSize: -1}, "watcher.WatchOptions.Timeout": {Timeout: -1},
	} {
		for _, err := range watcher.Watch[corev1.ConfigMap](t.Context(), newServer(t, "a"), &o) {
			if got, ok := errors.AsType[*request.InvalidError](err); !ok || got.Field != field {
				t.Fatalf("Watch with a negative option: %v, want an InvalidError of %s", err, field)
			}
		}
	}
}

func TestVersionThatCannotBeResumedIsAnError(t *testing.T) {
	server := newServer(t, "a")
	pairs := 0
	for _, err := range watcher.Events(t.Context(), server, &watcher.Options{ResourceVersion: "0"}) {
		pairs++
		if _, ok := errors.AsType[*request.InvalidError](err); !ok {
			t.Errorf("Events from version 0: %v, want an InvalidError", err)
		}
	}
	if pairs != 1 {
		t.Errorf("%d pairs, want one", pairs)
	}
	if got := server.Requests(); len(got) > 0 {
		t.Errorf("requests: %v", got)
	}
}

func TestServerThatEndsEachWatchGetsOnePerSecond(t *testing.T) {
	for name, end := range map[string]error{"a normal end": nil, "a broken connection": io.ErrUnexpectedEOF} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := newServer(t, "a")
				var watches atomic.Int64
				server.Behave(fakesource.Behaviour{OnWatch: func(*request.WatchOptions) error { watches.Add(1); return nil }})
				record(t, server, watcher.Options{})
				for range 1000 { // each watch delivers one object
					server.Put(configMap("a"))
					server.Cut(end)
					time.Sleep(10 * time.Millisecond)
				}
				if n := watches.Load(); n < 5 || n > 12 {
					t.Errorf("%d watches in 10 seconds, want about one per second", n)
				}
			})
		})
	}
}

func TestWatchResumesFromABookmark(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, "a")
		server.Behave(fakesource.Behaviour{Bookmarks: time.Minute})
		r := record(t, server, watcher.Options{})
		server.Tick()
		time.Sleep(time.Minute)
		synctest.Wait() // the bookmark is due now
		server.Cut(nil)
		r.want("Init, InitApply a@2, InitDone@2, Bookmark@3", "stream, watch rv=3")
	})
}

func TestWatchResumesAfterABrokenConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		r := record(t, server, watcher.Options{})
		time.Sleep(time.Second)
		server.Put(configMap("a"))
		server.Cut(io.ErrUnexpectedEOF)
		r.want("Init, InitDone@1, Apply a@2", "stream, watch rv=2") // immediately, since it delivered a version
		r.wantErrors(io.ErrUnexpectedEOF)

		time.Sleep(time.Second)
		server.Cut(io.ErrUnexpectedEOF)
		r.want("", "") // the request may have waited for its response until it broke
		time.Sleep(2 * time.Second)
		r.want("", "watch rv=2")
		r.wantErrors(io.ErrUnexpectedEOF)
	})
}

func TestObjectsAreListedAgainWhenTheVersionHasExpired(t *testing.T) {
	for _, how := range []string{"ERROR event", "HTTP status"} {
		t.Run("after 410 as "+how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := newServer(t, "a", "b")
				r := record(t, server, watcher.Options{})
				r.want("Init, InitApply a@2, InitApply b@3, InitDone@3", "stream")
				server.Delete(core.ObjectRef{Namespace: "prod", Name: "a"})
				server.Put(configMap("c"))
				r.want("Delete a@4, Apply c@5", "")
				server.Compact()
				requests := "stream"
				if how == "ERROR event" {
					server.Cut(fakesource.Expired())
				} else {
					server.Cut(nil)
					requests = "watch rv=5, stream"
				}
				time.Sleep(3 * time.Second)
				r.want("Init, InitApply b@3, InitApply c@5, InitDone@6", requests)
				r.wantErrors(core.ErrExpired)
			})
		})
	}
}

func TestFailedWatchResumesFromItsVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, "a")
		r := record(t, server, watcher.Options{})
		server.Behave(fakesource.Behaviour{OnWatch: func(*request.WatchOptions) error { return fakesource.Status(403, metav1.StatusReasonForbidden) }})
		time.Sleep(time.Second)
		server.Cut(nil)
		time.Sleep(5 * time.Second)
		server.Behave(fakesource.Behaviour{})
		server.Put(configMap("b"))
		time.Sleep(time.Minute)
		synctest.Wait()
		for _, req := range server.Requests()[1:] {
			if req != "watch rv=2" {
				t.Errorf("request %q, want the watch to resume from its version", req)
			}
		}
		r.want("Init, InitApply a@2, InitDone@2, Apply b@3", "")
	})
}

func TestObjectsAreListedAgainAfterTenFailedWatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		watches := 0
		server.Behave(fakesource.Behaviour{OnWatch: func(o *request.WatchOptions) error {
			if watches++; !o.SendInitialEvents && watches <= 11 {
				return fakesource.Status(503, metav1.StatusReasonServiceUnavailable)
			}
			return nil
		}})
		r := record(t, server, watcher.Options{})
		time.Sleep(time.Second)
		server.Cut(nil)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		server.Requests()
		r.want("Init, InitDone@1, Init, InitDone@1", "")
	})
}

// TestWatchWithoutTheUsualBookmarksIsOver checks what happens after a restore of etcd: the server accepts a watch from
// a version that it has not reached yet, and sends nothing.
func TestWatchWithoutTheUsualBookmarksIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, "a")
		server.Behave(fakesource.Behaviour{Bookmarks: time.Minute})
		r := record(t, server, watcher.Options{Timeout: time.Hour})
		time.Sleep(150 * time.Second)
		r.want("Init, InitApply a@2, InitDone@2, Bookmark@2, Bookmark@2", "stream")
		server.Behave(fakesource.Behaviour{})
		time.Sleep(3 * time.Minute) // one more bookmark arrives after 30 seconds
		r.want("Bookmark@2", "")
		time.Sleep(100 * time.Second) // the connection may be dead, so the version may be valid
		r.want("", "watch rv=2")
		r.wantErrors("no data from the server for 4m0s")
		time.Sleep(4 * time.Minute)
		synctest.Wait()
		r.want("Init, InitApply a@2, InitDone@2", "stream")
		r.wantErrors("the server sends no bookmarks any more")
		time.Sleep(time.Hour) // the new watch is as quiet, but within its timeout
	})
}

// TestOneBookmarkCausesAtMostOneList checks that a server may send bookmarks only at the end of each watch. An object
// changes once shortly before such a bookmark, so that the bookmarks seem to be regular.
func TestOneBookmarkCausesAtMostOneList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, "a")
		server.Behave(fakesource.Behaviour{Bookmarks: 24 * time.Hour}) // longer than any watch
		r := record(t, server, watcher.Options{Timeout: 10 * time.Minute})
		time.Sleep(9 * time.Minute)
		server.Put(configMap("b"))
		time.Sleep(2 * time.Minute)
		r.want("Init, InitApply a@2, InitDone@2, Apply b@3, Bookmark@3", "stream, watch rv=3")
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		lists := 0
		for _, request := range server.Requests() {
			if strings.HasPrefix(request, "stream") {
				lists++
			}
		}
		if lists > 1 {
			t.Errorf("the objects were listed %d times in a quiet day, want at most once", lists)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if len(r.errs) > 1 {
			t.Errorf("reported %d errors, want at most one", len(r.errs))
		}
	})
}
