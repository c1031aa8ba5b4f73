// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package watcher_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
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

func TestWatchResumesFromABookmark(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, "a")
		server.Behave(fakesource.Behaviour{Bookmarks: time.Minute})
		r := record(t, server, watcher.Options{})
		server.Tick()
		time.Sleep(time.Minute)
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

func TestPersistentErrorIsReportedAndRetriedWithBackoff(t *testing.T) {
	for _, target := range []error{core.ErrUnauthorized, core.ErrForbidden, core.ErrNotFound, core.ErrUnavailable} {
		t.Run(target.Error(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := newServer(t, "a")
				answer := statusOf(t, target)
				server.Behave(fakesource.Behaviour{
					OnList:  func(*request.ListOptions) error { return answer },
					OnWatch: func(*request.WatchOptions) error { return answer },
				})
				r := record(t, server, watcher.Options{})
				time.Sleep(10 * time.Minute)
				synctest.Wait()
				// The delays are at least 0.8+1.6+3.2+6.4+12.8+25.6+30+30+… seconds, and at most twice that.
				if n := len(server.Requests()); n < 14 || n > 25 {
					t.Errorf("%d requests in ten minutes, want from 14 to 25", n)
				}
				if len(r.errs) < 14 || !errors.Is(r.errs[0], target) {
					t.Errorf("reported %v, want %v", r.errs, target)
				}
				r.want("", "")
				server.Behave(fakesource.Behaviour{})
				time.Sleep(time.Minute)
				synctest.Wait()
				r.server.Requests()
				r.want("Init, InitApply a@2, InitDone@2", "")
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

func TestRetryAfterIsHonoured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		busy := fakesource.Status(429, metav1.StatusReasonTooManyRequests)
		busy.RetryAfter = 90 * time.Second
		server.Behave(fakesource.Behaviour{OnWatch: func(*request.WatchOptions) error {
			server.Behave(fakesource.Behaviour{})
			return fmt.Errorf("watch configmaps: %w", busy)
		}})
		r := record(t, server, watcher.Options{})
		r.want("", "stream")
		time.Sleep(90*time.Second - time.Millisecond)
		r.want("", "")
		time.Sleep(time.Millisecond)
		r.want("Init, InitDone@1", "stream")
		r.wantErrors(core.ErrTooManyRequests)
	})
}

func TestShortWatchesBackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		r := record(t, server, watcher.Options{})
		server.Cut(nil)
		r.want("Init, InitDone@1", "stream")
		r.wantErrors("the server ended the watch immediately")
		time.Sleep(1600 * time.Millisecond) // the longest first back-off, so that the watch has lived for less than a second
		r.want("", "watch rv=1")
		server.Put(configMap("a"))
		server.Cut(nil) // as short, but with a new version: no back-off, but not more than one watch per second
		r.want("Apply a@2", "")
		time.Sleep(time.Second)
		r.want("", "watch rv=2")
		r.wantErrors()
	})
}

func TestDeadConnectionIsDetected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		r := record(t, server, watcher.Options{Timeout: time.Minute})
		server.Behave(fakesource.Behaviour{OnWatch: func(o *request.WatchOptions) error {
			o.Timeout = 24 * time.Hour // the end never arrives
			return nil
		}})
		time.Sleep(time.Minute)
		r.want("Init, InitDone@1", "stream, watch rv=1")
		time.Sleep(70 * time.Second)
		r.want("", "")
		r.wantErrors("no data from the server for 1m10s")
		time.Sleep(2 * time.Second)
		r.want("", "watch rv=1")
	})
}

func TestTimeOfTheConsumerIsNotSilenceOfTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, paged := range []bool{false, true} {
			server := newServer(t, "a", "b")
			config := &watcher.Options{Paged: paged, OnError: func(err error) { t.Error(err) }}
			events := 0
			for _, err := range watcher.Events(t.Context(), server, config) {
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Hour)
				if events++; events == 4 {
					break
				}
			}
		}
	})
}

func TestTimeoutIsRandomWithinFiveToTenMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		seen := make(map[time.Duration]bool)
		server.Behave(fakesource.Behaviour{OnWatch: func(o *request.WatchOptions) error {
			if o.Timeout < 5*time.Minute || o.Timeout >= 10*time.Minute || o.Timeout%time.Second != 0 {
				t.Errorf("timeout %v, want whole seconds from 5 to 10 minutes", o.Timeout)
			}
			seen[o.Timeout] = true
			return nil
		}})
		record(t, server, watcher.Options{})
		time.Sleep(5 * time.Hour)
		synctest.Wait()
		if len(seen) < 10 {
			t.Errorf("%d different timeouts in five hours, want at least 10", len(seen))
		}
	})
}

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

func TestEveryRequestHasTheSelectors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		requests := 0
		check := func(labels, fields string) {
			if requests++; labels != "app=web" || fields != "metadata.name=a" {
				t.Errorf("selectors %q and %q", labels, fields)
			}
		}
		server.Behave(fakesource.Behaviour{
			Streaming: fakesource.Rejected,
			OnList: func(o *request.ListOptions) error {
				check(o.LabelSelector, o.FieldSelector)
				return nil
			},
			OnWatch: func(o *request.WatchOptions) error {
				check(o.LabelSelector, o.FieldSelector)
				return nil
			},
		})
		record(t, server, watcher.Options{LabelSelector: "app=web", FieldSelector: "metadata.name=a"})
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
		pairs := 0
		for _, err := range watcher.Events(ctx, server, nil) {
			if pairs++; err != errStop {
				t.Errorf("got %v, want the cause", err)
			}
		}
		if pairs != 1 {
			t.Errorf("%d pairs, want one", pairs)
		}
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

// statusOf returns a response that matches a sentinel.
func statusOf(t *testing.T, target error) *core.StatusError {
	t.Helper()
	for _, code := range []int32{401, 403, 404, 503} {
		if err := fakesource.Status(code, ""); errors.Is(err, target) {
			return err
		}
	}
	t.Fatalf("no status is %v", target)
	return nil
}

// deafSource sends its objects, even when the request's context has ended.
type deafSource struct{ *fakesource.Server }

func (s deafSource) List(_ context.Context, o *request.ListOptions, each func(wire.Packed) error) (metav1.ListMeta, error) {
	return s.Server.List(context.Background(), o, each)
}

func (s deafSource) Watch(_ context.Context, o *request.WatchOptions) iter.Seq2[wire.Event, error] {
	return s.Server.Watch(context.Background(), o)
}

// stuckSource accepts requests and never responds, and records their contexts.
type stuckSource struct {
	*fakesource.Server
	requests []context.Context
}

func (s *stuckSource) List(ctx context.Context, _ *request.ListOptions, _ func(wire.Packed) error) (metav1.ListMeta, error) {
	s.requests = append(s.requests, ctx)
	<-ctx.Done()
	return metav1.ListMeta{}, fmt.Errorf("list configmaps: %w", context.Cause(ctx))
}

func (s *stuckSource) Watch(ctx context.Context, o *request.WatchOptions) iter.Seq2[wire.Event, error] {
	s.requests = append(s.requests, ctx)
	return s.Server.Watch(ctx, o)
}

func TestListWithoutAResponseIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &stuckSource{Server: newServer(t)}
		ctx, cancel := context.WithTimeoutCause(t.Context(), 125*time.Second, errStop)
		defer cancel()
		var reported []error
		config := &watcher.Options{Paged: true, OnError: func(err error) { reported = append(reported, err) }}
		for _, err := range watcher.Events(ctx, src, config) {
			if err != errStop {
				t.Errorf("got %v, want the cause", err)
			}
		}
		if len(src.requests) != 2 || len(reported) != 1 || !strings.HasSuffix(reported[0].Error(), "no data from the server for 2m0s") {
			t.Errorf("%d requests, reported %v", len(src.requests), reported)
		}
	})
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
