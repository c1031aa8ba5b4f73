// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/core"
)

// everything is shards of a replica that owns all objects.
type everything struct{}

func (everything) Begin(types.UID, string) (func(), bool) { return func() {}, true }

func (everything) Follow(f func(*core.Shard)) func() {
	f(new(core.Shard))
	return func() {}
}

func TestShardsForgetClustersThatHaveLeft(t *testing.T) {
	s := newSharded(nil, everything{})
	for i := range 100 {
		stop, err := s.follow(&member{cluster: fmt.Sprint("cluster-", i), engaged: true})
		if err != nil {
			t.Fatal(err)
		}
		stop()
	}
	if n := len(s.parts); n > 0 {
		t.Errorf("the parts of %d clusters that have left are kept", n)
	}
}
