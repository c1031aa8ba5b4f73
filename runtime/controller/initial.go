// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import "github.com/kube-go/sdk/runtime/reflector"

// isOld reports whether a change is the existing state of an object, which has the priority of initial objects. An
// object that has changed since the subscription began, and before it was delivered, is delivered with its new state
// only: it is a change like those that follow.
func (f *memberFeed) isOld(c reflector.Change) bool {
	if !c.Initial || f.began == 0 || f.version.Load() == f.began { // nothing has changed
		return c.Initial
	}
	head, err := c.New.Head()
	return err != nil || versionOf(head.ResourceVersion) <= f.began
}
