// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package watcher_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
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

// The server queues each watch for over a second, accepts it, and ends it immediately. The time in the queue does not
// make the watch a healthy one.
func TestWatchThatEndsImmediatelyAfterAQueueBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		r := record(t, server, watcher.Options{})
		server.Behave(fakesource.Behaviour{OnWatch: func(o *request.WatchOptions) error {
			time.Sleep(1100 * time.Millisecond)
			o.Timeout = 0
			return nil
		}})
		time.Sleep(time.Second)
		server.Cut(nil)
		time.Sleep(10 * time.Minute)
		if n := len(server.Requests()); n > 30 {
			t.Errorf("%d requests in ten minutes, want at most 30", n)
		}
		server.Behave(fakesource.Behaviour{})
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if len(r.errs) == 0 || !strings.HasSuffix(r.errs[0].Error(), "the server ended the watch immediately") {
			t.Errorf("reported %v", r.errs)
		}
	})
}

func TestWatchThatIsNotAcceptedIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &stuckSource{Server: newServer(t), deaf: true}
		var reported []error
		o := &watcher.Options{ResourceVersion: "1", OnError: func(err error) { reported = append(reported, err) }}
		ctx, cancel := context.WithTimeoutCause(t.Context(), 65*time.Second, errStop)
		defer cancel()
		wantCause(t, watcher.Events(ctx, src, o))
		if len(src.requests) != 2 || len(reported) != 1 || !strings.HasSuffix(reported[0].Error(), "no data from the server for 1m0s") {
			t.Errorf("%d requests, reported %v", len(src.requests), reported)
		}
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
			if events != 4 {
				t.Errorf("paged %v: %d events, want 4", paged, events)
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

// stuckSource never responds to a list, nor to a watch if it is deaf, and records the contexts of its requests.
type stuckSource struct {
	*fakesource.Server
	deaf     bool
	requests []context.Context
}

func (s *stuckSource) List(ctx context.Context, _ *request.ListOptions, _ func(wire.Packed) error) (metav1.ListMeta, error) {
	s.requests = append(s.requests, ctx)
	<-ctx.Done()
	return metav1.ListMeta{}, fmt.Errorf("list configmaps: %w", context.Cause(ctx))
}

func (s *stuckSource) Watch(ctx context.Context, o *request.WatchOptions) (iter.Seq2[wire.Event, error], error) {
	s.requests = append(s.requests, ctx)
	if s.deaf {
		<-ctx.Done()
		return nil, fmt.Errorf("watch configmaps: %w", context.Cause(ctx))
	}
	return s.Server.Watch(ctx, o)
}

func TestListWithoutAResponseIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &stuckSource{Server: newServer(t)}
		ctx, cancel := context.WithTimeoutCause(t.Context(), 125*time.Second, errStop)
		defer cancel()
		var reported []error
		config := &watcher.Options{Paged: true, OnError: func(err error) { reported = append(reported, err) }}
		wantCause(t, watcher.Events(ctx, src, config))
		if len(src.requests) != 2 || len(reported) != 1 || !strings.HasSuffix(reported[0].Error(), "no data from the server for 2m0s") {
			t.Errorf("%d requests, reported %v", len(src.requests), reported)
		}
	})
}
