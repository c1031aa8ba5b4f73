// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"strings"
	"testing"
	"time"

	"github.com/kube-go/sdk/core/abi"
)

func TestWatchThatHasExceededTheLimitIsRefusedForSomeTime(t *testing.T) {
	q := &quota{limit: 100}
	large, other := abi.Watch{Resource: "pods", KeysOnly: true}, abi.Watch{Resource: "nodes"}
	key := large
	key.KeysOnly = false
	var ended error
	c := q.claim(&sharedWatch{key: key}, nil, func(err error) { ended = err })
	if c.resize(100); ended != nil || q.admit(large, time.Now()) != nil {
		t.Errorf("a watch at the limit has ended with %v, or is refused", ended)
	}
	c.resize(101)
	now := q.over[key].Add(-overTime)
	if code := codeOf(ended); code != abi.OverLimit || !strings.Contains(ended.Error(), "again in 30s") {
		t.Errorf("the watch has ended with %v, want OverLimit and when it is possible again", ended)
	}
	for _, w := range []abi.Watch{large, key} {
		err := q.admit(w, now.Add(overTime/2))
		if codeOf(err) != abi.OverLimit || !strings.Contains(err.Error(), "again in 15s") {
			t.Errorf("admit(%+v) = %v, want OverLimit and when it is possible again", w, err)
		}
		if err := q.admit(w, now.Add(overTime)); err != nil {
			t.Errorf("admit(%+v) = %v after %v", w, err, overTime)
		}
	}
	if err := q.admit(other, now); err != nil {
		t.Errorf("another watch of the module is refused: %v", err)
	}
	if q.refuse(other, now.Add(overTime)); len(q.over) != 1 {
		t.Errorf("the quota keeps %d watches, want the one that is refused", len(q.over))
	}
}
