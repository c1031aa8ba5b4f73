// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package watcher_test

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/runtime/internal/bubble"
	"github.com/kube-go/sdk/runtime/internal/fakesource"
	"github.com/kube-go/sdk/runtime/watcher"
)

// The watcher never goes back in time: a list that accepted any version could be older than the last one.
func TestAllListsRequestTheNewestState(t *testing.T) {
	for _, streaming := range []fakesource.Streaming{fakesource.Supported, fakesource.Rejected} {
		synctest.Test(t, func(t *testing.T) {
			server := newServer(t, "a", "b", "c")
			var mu sync.Mutex // guards lists
			var lists []string
			server.Behave(fakesource.Behaviour{
				Streaming: streaming,
				OnList: func(o *request.ListOptions) error {
					mu.Lock()
					defer mu.Unlock()
					lists = append(lists, o.ResourceVersion+string(o.ResourceVersionMatch))
					return nil
				},
				OnWatch: func(o *request.WatchOptions) error {
					mu.Lock()
					defer mu.Unlock()
					if !o.SendInitialEvents {
						return fakesource.Status(410, metav1.StatusReasonExpired) // the watch can't be resumed
					}
					lists = append(lists, o.ResourceVersion)
					return nil
				},
			})
			record(t, server, watcher.Options{PageSize: 2})
			for range 3 {
				server.Cut(errors.New("cut"))
				<-time.After(5 * time.Minute) // longer than all delays
				synctest.Wait()
			}
			mu.Lock()
			defer mu.Unlock()
			if len(lists) < 4 || slices.ContainsFunc(lists, func(version string) bool { return version != "" }) {
				t.Errorf("the lists request the versions %q, want four or more, and always the newest", lists)
			}
		})
	}
}

func TestSequenceStartsNoGoroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before, events := bubble.Goroutines(), 0
		for ev, err := range watcher.Watch[corev1.ConfigMap](t.Context(), newServer(t, "a"), nil) {
			events++
			if n := bubble.Goroutines(); err != nil || ev.Object.Name != "a" || n != before {
				t.Errorf("got %v, %v in a bubble with %d goroutines, want as many as before, which is %d", ev, err, n, before)
			}
			break
		}
		if events != 1 {
			t.Errorf("%d events, want one", events)
		}
	})
}
