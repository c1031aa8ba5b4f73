// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package watcher_test

import (
	"fmt"
	"io"
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

// relist makes the current version of a watch expire.
func relist(server *fakesource.Server) {
	time.Sleep(time.Second)
	server.Compact()
	server.Cut(fakesource.Expired())
	time.Sleep(time.Minute) // longer than the first delays
}

func TestWatchersOfAServerShareWhatTheyLearn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		server.Behave(fakesource.Behaviour{Streaming: fakesource.Rejected})
		shared := new(watcher.Server)
		record(t, server, watcher.Options{Server: shared}).want("Init, InitDone@1", "stream, list limit=500, watch rv=1")
		record(t, server, watcher.Options{Server: shared}).want("Init, InitDone@1", "list limit=500, watch rv=1")

		widgets := core.Resource{Group: "example.com", Version: "v1", Kind: "Widget", Plural: "widgets"}
		aggregated := fakesource.New(widgets, wire.JSON) // another program serves this API
		record(t, aggregated, watcher.Options{Server: shared}).want("Init, InitDone@1", "stream")
	})
}

func TestConsumerThatLeavesAfterTheListSharesWhatItLearned(t *testing.T) {
	server := newServer(t)
	server.Behave(fakesource.Behaviour{Streaming: fakesource.Rejected})
	shared := new(watcher.Server)
	for range 2 {
		for ev, err := range watcher.Events(t.Context(), server, &watcher.Options{Server: shared}) {
			if err != nil {
				t.Fatal(err)
			}
			if ev.Type == watcher.InitDone {
				break
			}
		}
	}
	if got := fmt.Sprint(server.Requests()); got != "[stream list limit=500 list limit=500]" {
		t.Errorf("requests: %s", got)
	}
}

func TestStreamingListIsTriedAgainAfterSomeTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		server.Behave(fakesource.Behaviour{Streaming: fakesource.Rejected})
		r := record(t, server, watcher.Options{Timeout: 24 * time.Hour})
		r.want("Init, InitDone@1", "stream, list limit=500, watch rv=1")
		server.Behave(fakesource.Behaviour{})
		relist(server)
		r.want("Init, InitDone@2", "list limit=500, watch rv=2")
		time.Sleep(2 * time.Hour)
		relist(server)
		r.want("Init, InitDone@3", "stream")
	})
}

// A connection that breaks may be the restart of an upgraded server.
func TestStreamingListIsTriedAgainAfterAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		server.Behave(fakesource.Behaviour{Streaming: fakesource.Rejected})
		r := record(t, server, watcher.Options{})
		r.want("Init, InitDone@1", "stream, list limit=500, watch rv=1")
		time.Sleep(time.Second)
		server.Cut(io.ErrUnexpectedEOF)
		time.Sleep(2 * time.Second)
		r.want("", "watch rv=1")
		server.Behave(fakesource.Behaviour{})
		relist(server)
		r.want("Init, InitDone@2", "stream")
	})
}

// A server rejects a field selector in streaming lists and in pages with the same code.
func TestInvalidSelectorsDoNotDisableStreamingLists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		invalid := fakesource.Status(400, metav1.StatusReasonBadRequest)
		server.Behave(fakesource.Behaviour{
			OnList:  func(*request.ListOptions) error { return invalid },
			OnWatch: func(*request.WatchOptions) error { return invalid },
		})
		shared := new(watcher.Server)
		r := record(t, server, watcher.Options{Server: shared, FieldSelector: "spec.x=y"})
		r.want("", "stream, list limit=500")
		r.wantErrors(core.ErrBadRequest)
		r.stop(errStop)
		if err := <-r.ended; err != errStop {
			t.Errorf("the sequence ended with %v", err)
		}
		server.Behave(fakesource.Behaviour{})
		record(t, server, watcher.Options{Server: shared}).want("Init, InitDone@1", "stream")
	})
}

// Silence and an early end may come from an overloaded server or a proxy.
func TestTransientFailuresOfAStreamingListAreNotRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		server.Behave(fakesource.Behaviour{Streaming: fakesource.Ignored})
		shared := new(watcher.Server)
		r := record(t, server, watcher.Options{Server: shared})
		time.Sleep(20 * time.Second)
		r.want("Init, InitDone@1", "stream, list limit=500, watch rv=1")
		server.Behave(fakesource.Behaviour{})
		record(t, server, watcher.Options{Server: shared}).want("Init, InitDone@1", "stream")
		relist(server)
		r.server.Requests()
		r.want("Init, InitDone@2", "")
	})
}
