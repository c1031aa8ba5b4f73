// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package sharding_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/election"
)

// shards is what the result of Member.Window can do.
type shards interface {
	Begin(uid types.UID, namespace string) (end func(), ok bool)
	Follow(f func(*core.Shard)) (stop func())
}

// open returns the number of 500 objects with which work may begin.
func open(s shards) (n int) {
	for i := range 500 {
		if end, ok := s.Begin(types.UID(fmt.Sprintf("%d-4b1d-c0ffee", i)), ""); ok {
			end()
			n++
		}
	}
	return n
}

func TestWindowOwnsWhatItHasListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		a := c.start("a", nil)
		window := a.ShardSource()
		owns := window.(shards)
		var mu sync.Mutex // guards followed
		var followed []string
		defer owns.Follow(func(s *core.Shard) {
			mu.Lock()
			defer mu.Unlock()
			followed = append(followed, s.String())
		})()
		time.Sleep(5 * time.Second)
		if open(a) != 500 || open(owns) != 0 {
			t.Errorf("%d objects are owned, and %d are before a list", open(a), open(owns))
		}
		all, valid := window.List()
		if open(owns) != 0 {
			t.Error("objects are owned during a list")
		}
		window.Listed()
		synctest.Wait()
		if open(owns) != 500 || valid.Err() != nil {
			t.Errorf("%d objects are owned after a list: %v", open(owns), valid.Err())
		}

		b := c.start("b", nil)
		time.Sleep(2 * time.Second) // less than the time after which the selection shrinks
		half := open(owns)
		if half < 200 || half > 300 || valid.Err() != nil {
			t.Errorf("%d objects are owned after a hand-over: %v", half, valid.Err())
		}
		time.Sleep(10 * time.Second)
		if valid.Err() == nil {
			t.Error("the list is valid long after a hand-over")
		}
		less, valid := window.List()
		window.Listed()
		if less.String() == all.String() || open(owns) != half {
			t.Errorf("%d objects are owned after a list of %s, want %d", open(owns), less, half)
		}

		c.end(b)
		time.Sleep(2 * time.Second)
		if valid.Err() == nil || open(a) != 500 || open(owns) != half {
			t.Errorf("%d objects are owned, and %d before a list, want %d: %v", open(a), open(owns), half, valid.Err())
		}
		if again, _ := window.List(); again.String() != all.String() {
			t.Errorf("the next list is one of %s", again)
		}
		window.Listed()
		synctest.Wait()
		if open(owns) != 500 {
			t.Errorf("%d objects are owned after a list", open(owns))
		}
		c.end(a)
		if shard, _ := window.List(); open(owns) != 0 || shard.String() != "" {
			t.Errorf("%d objects are owned after the end, and the next list is one of %s", open(owns), shard)
		}
		mu.Lock()
		defer mu.Unlock()
		if len(followed) < 5 || followed[0] != "" || followed[1] != all.String() || followed[len(followed)-1] != "" {
			t.Errorf("the followers were called with %q", followed)
		}
	})
}

func TestFenceRefusesWritesOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		a := c.start("a", nil)
		sent := 0
		fenced := a.Fence()(middleware.RoundTripperFunc(func(*http.Request) (*http.Response, error) {
			sent++
			return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
		}))
		send := func(method string) error {
			r, err := http.NewRequestWithContext(context.Background(), method, "https://cluster.test/", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := fenced.RoundTrip(r)
			if err == nil {
				err = resp.Body.Close()
			}
			return err
		}
		time.Sleep(5 * time.Second)
		if err := errors.Join(send(http.MethodGet), send(http.MethodPatch)); err != nil || sent != 2 {
			t.Errorf("requests of a member: %v", err)
		}
		c.end(a)
		if err := send(http.MethodPatch); !errors.Is(err, election.ErrNotLeader) || sent != 2 {
			t.Errorf("a write after the end: %v", err)
		}
		if err := send(http.MethodGet); err != nil || sent != 3 {
			t.Errorf("a read after the end: %v", err)
		}
	})
}
