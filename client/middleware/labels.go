// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package middleware

import (
	"slices"
	"sync"
)

// Other is the label of calls beyond the limit.
const Other = "other"

// Labels returns the metric labels of calls, such that neither a program nor a server can create an unlimited number of
// series. It is meant for observers, and is safe for concurrent use.
type Labels struct {
	most int

	mu   sync.Mutex // guards seen
	seen map[[2]string]bool
}

// NewLabels returns labels for at most that many resources and subresources. If most is not positive, the limit is 200.
func NewLabels(limit int) *Labels {
	if limit <= 0 {
		limit = 200
	}
	return &Labels{most: limit, seen: map[[2]string]bool{}}
}

// Of returns the verb of a call, its resource with the group, and its subresource. A verb that is not a Kubernetes verb
// is [Other], and so are resources beyond the limit.
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
