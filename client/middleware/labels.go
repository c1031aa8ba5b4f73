// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package middleware

import (
	"slices"
	"sync"
)

// Other is the label of whatever is beyond a bound.
const Other = "other"

// Labels name calls in metrics, so that neither a program nor a server can make series without end. It is for observers,
// and safe for concurrent use.
type Labels struct {
	most int

	mu   sync.Mutex // guards seen
	seen map[[2]string]bool
}

// NewLabels returns labels that tell apart that many resources and subresources; 0 and less is 200.
func NewLabels(most int) *Labels {
	if most <= 0 {
		most = 200
	}
	return &Labels{most: most, seen: map[[2]string]bool{}}
}

// Of returns the verb of a call, its resource with the group, and its subresource. What is no verb of Kubernetes is
// [Other], and so are further resources than there may be.
func (l *Labels) Of(call Call) (verb, resource, subresource string) {
	verb, resource = call.Verb, call.GroupResource()
	verbs := []string{
		"get", "list", "watch", "create", "update", "patch", "apply", "delete", "deletecollection", "connect", "proxy", "",
	}
	if !slices.Contains(verbs, verb) {
		verb = Other
	}
	key := [2]string{resource, call.Subresource}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.seen[key] {
		if len(l.seen) >= l.most {
			return verb, Other, Other
		}
		l.seen[key] = true
	}
	return verb, resource, call.Subresource
}
