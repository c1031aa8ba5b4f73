// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kubeprometheus

import (
	"slices"
	"sync"

	"github.com/kube-go/sdk/client/middleware"
)

// other stands for everything beyond a bound.
const other = "other"

// verbOf returns a verb, if it is one that Kubernetes has.
func verbOf(verb string) string {
	known := []string{
		"get", "list", "watch", "create", "update", "patch", "apply", "delete", "deletecollection", "connect", "proxy", "",
	}
	if slices.Contains(known, verb) {
		return verb
	}
	return other
}

// bound remembers which resources have been seen, up to a number of them.
type bound struct {
	most int

	mu   sync.Mutex // guards seen
	seen map[[2]string]bool
}

func newBound(most int) *bound {
	if most <= 0 {
		most = 200
	}
	return &bound{most: most, seen: map[[2]string]bool{}}
}

// labels returns the resource, with its group, and the subresource of a call.
func (b *bound) labels(call middleware.Call) (resource, subresource string) {
	resource = call.Resource
	if call.Group != "" {
		resource += "." + call.Group
	}
	key := [2]string{resource, call.Subresource}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.seen[key] {
		if len(b.seen) >= b.most {
			return other, other
		}
		b.seen[key] = true
	}
	return resource, call.Subresource
}
