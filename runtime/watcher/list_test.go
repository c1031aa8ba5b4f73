// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package watcher_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
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

func TestStreamingListThenChangesOnTheSameWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, "a", "b")
		r := record(t, server, watcher.Options{})
		r.want("Init, InitApply a@2, InitApply b@3, InitDone@3", "stream")
		server.Put(configMap("a"))
		server.Put(configMap("c"))
		server.Delete(core.ObjectRef{Namespace: "prod", Name: "b"})
		r.want("Apply a@4, Apply c@5, Delete b@6", "")
		r.wantErrors()
	})
}

func TestListOfAnEmptyCollectionHasInitAndInitDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		record(t, newServer(t), watcher.Options{}).want("Init, InitDone@1", "stream")
		record(t, newServer(t), watcher.Options{Paged: true}).want("Init, InitDone@1", "list limit=500, watch rv=1")
	})
}

func TestServerThatRejectsStreamingListsIsListedInPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, "a", "b", "c")
		server.Behave(fakesource.Behaviour{Streaming: fakesource.Rejected})
		r := record(t, server, watcher.Options{PageSize: 2})
		r.want("Init, InitApply a@2, InitApply b@3, InitApply c@4, InitDone@4",
			"stream, list limit=2, list limit=2 continue=4/1, watch rv=4")
		r.wantErrors() // the rejection is expected, and not an error

		time.Sleep(time.Second)
		server.Compact() // the fallback is remembered
		server.Cut(nil)
		time.Sleep(2 * time.Second)
		r.want("Init, InitApply a@2, InitApply b@3, InitApply c@4, InitDone@5",
			"watch rv=4, list limit=2, list limit=2 continue=5/1, watch rv=5")
	})
}

func TestServerThatIgnoresStreamingListsIsDetected(t *testing.T) {
	t.Run("by its silence", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			server := newServer(t, "a")
			server.Behave(fakesource.Behaviour{Streaming: fakesource.Ignored})
			r := record(t, server, watcher.Options{})
			r.want("Init, InitApply a@2", "stream")
			time.Sleep(20 * time.Second)
			r.want("Init, InitApply a@2, InitDone@2", "list limit=500, watch rv=2")
			r.wantErrors("no data from the server for 20s")
		})
	})
	t.Run("by the end of the watch", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			server := newServer(t, "a")
			server.Behave(fakesource.Behaviour{Streaming: fakesource.Ignored})
			r := record(t, server, watcher.Options{})
			server.Cut(nil)
			time.Sleep(2 * time.Second)
			r.want("Init, InitApply a@2, Init, InitApply a@2, InitDone@2", "stream, list limit=500, watch rv=2")
			r.wantErrors("the server ended a streaming list before it was complete")
		})
	})
}

func TestServerWithoutTheEndOfAStreamingListIsDetected(t *testing.T) {
	t.Run("by a bookmark", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			server := newServer(t, "a")
			server.Behave(fakesource.Behaviour{Streaming: fakesource.Ignored, Bookmarks: 15 * time.Second})
			r := record(t, server, watcher.Options{})
			time.Sleep(15 * time.Second)
			r.want("Init, InitApply a@2, Init, InitApply a@2, InitDone@2", "stream, list limit=500, watch rv=2")
			r.wantErrors("the server does not mark the end of a streaming list")
		})
	})
	t.Run("by changes that keep arriving", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			server := newServer(t, "a")
			server.Behave(fakesource.Behaviour{Streaming: fakesource.Ignored})
			shared := new(watcher.Server)
			r := record(t, server, watcher.Options{Server: shared})
			for range 22 {
				time.Sleep(time.Second)
				server.Put(configMap("a"))
			}
			synctest.Wait()
			if got := fmt.Sprint(server.Requests()); got != "[stream list limit=500 watch rv=23]" {
				t.Errorf("requests: %s", got)
			}
			r.wantErrors("the server does not mark the end of a streaming list")
			record(t, server, watcher.Options{Server: shared})
			if got := fmt.Sprint(server.Requests()); got != "[list limit=500 watch rv=24]" {
				t.Errorf("requests of the next watcher: %s", got)
			}
		})
	})
}

// A correct server may need minutes for a large list, and its end may follow later than the first changes.
func TestStreamingListOfACorrectServerIsNotInterrupted(t *testing.T) {
	for name, behaviour := range map[string]fakesource.Behaviour{
		"a slow list":                      {Pace: 15 * time.Second},
		"an end after the changes":         {EndAfter: 15 * time.Second},
		"a slow list with a later end":     {Pace: 15 * time.Second, EndAfter: 15*time.Second + 300*15*time.Second},
		"a slow consumer with a later end": {EndAfter: 15 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := newServer(t)
				for i := range 300 {
					server.Put(configMap(fmt.Sprintf("m-%03d", i)))
				}
				server.Behave(behaviour)
				ctx, stop := context.WithCancel(t.Context())
				var changes sync.WaitGroup
				changes.Go(func() {
					for ctx.Err() == nil {
						server.Put(configMap("m-000"))
						time.Sleep(time.Second)
					}
				})
				events := 0
				for ev, err := range watcher.Events(ctx, server, &watcher.Options{OnError: func(err error) { t.Error(err) }}) {
					if err != nil {
						t.Fatal(err)
					}
					if events++; strings.HasPrefix(name, "a slow consumer") && events > 300 {
						time.Sleep(3 * time.Second)
					}
					if ev.Type == watcher.InitDone {
						break
					}
				}
				stop()
				changes.Wait()
				if got := fmt.Sprint(server.Requests()); got != "[stream]" {
					t.Errorf("requests: %s", got)
				}
			})
		})
	}
}

func TestDeleteWithinAStreamingListIsYielded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, "a")
		server.Behave(fakesource.Behaviour{Streaming: fakesource.Ignored}) // the list is never complete
		r := record(t, server, watcher.Options{})
		server.Delete(core.ObjectRef{Namespace: "prod", Name: "a"})
		server.Put(configMap("b"))
		r.want("Init, InitApply a@2, Delete a@3, InitApply b@4", "stream")
	})
}

// Ten pages are listed from a server that rejects every fifth request. Each page is requested until it succeeds, and no
// page twice after that.
func TestFailedPageIsRequestedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var names []string
		for i := range 20 {
			names = append(names, fmt.Sprintf("m-%02d", i))
		}
		server := newServer(t, names...)
		busy := &core.StatusError{Status: metav1.Status{Code: 429, Reason: metav1.StatusReasonTooManyRequests}}
		var requests, pages atomic.Int64
		server.Behave(fakesource.Behaviour{OnList: func(*request.ListOptions) error {
			if requests.Add(1)%5 == 0 {
				return busy
			}
			pages.Add(1)
			return nil
		}})
		r := record(t, server, watcher.Options{Paged: true, PageSize: 2})
		time.Sleep(time.Minute)
		if pages.Load() != 10 || requests.Load() != 12 {
			t.Errorf("%d pages in %d requests, want 10 in 12", pages.Load(), requests.Load())
		}
		r.wantErrors(busy, busy)
	})
}

func TestInterruptedStreamingListStartsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, "a")
		server.Behave(fakesource.Behaviour{Streaming: fakesource.Ignored})
		r := record(t, server, watcher.Options{})
		server.Cut(io.ErrUnexpectedEOF)
		server.Behave(fakesource.Behaviour{Streaming: fakesource.Supported})
		time.Sleep(2 * time.Second)
		r.want("Init, InitApply a@2, Init, InitApply a@2, InitDone@2", "stream, stream")
		r.wantErrors(io.ErrUnexpectedEOF)
	})
}

func TestExpiredContinueTokenListsWithoutPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, "a", "b")
		server.Behave(fakesource.Behaviour{OnList: func(o *request.ListOptions) error {
			if o.Continue != "" {
				server.Compact()
			}
			return nil
		}})
		r := record(t, server, watcher.Options{Paged: true, PageSize: 1})
		r.want("Init, InitApply a@2, Init, InitApply a@2, InitApply b@3, InitDone@4",
			"list limit=1, list limit=1 continue=3/1, list, watch rv=4")
		r.wantErrors(core.ErrExpired)
	})
}

func TestBrokenListStartsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, "a", "b")
		items := 0
		server.Behave(fakesource.Behaviour{OnItem: func(p wire.Packed) (wire.Packed, error) {
			if items++; items == 2 {
				return p, io.ErrUnexpectedEOF
			}
			return p, nil
		}})
		r := record(t, server, watcher.Options{Paged: true})
		time.Sleep(2 * time.Second)
		r.want("Init, InitApply a@2, Init, InitApply a@2, InitApply b@3, InitDone@3", "list limit=500, list limit=500, watch rv=3")
		r.wantErrors(io.ErrUnexpectedEOF)
	})
}
