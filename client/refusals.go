// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-go/sdk/core/wire"
)

// refusals remembers what servers refuse, so that later requests do not ask for it. The zero value is empty.
type refusals struct {
	until sync.Map // time.Time by encodingRefusal or managedFieldsRefusal
}

// An encodingRefusal is the key for a server that accepts no bodies of a resource in an encoding.
type encodingRefusal struct {
	resource schema.GroupVersionResource
	encoding wire.Encoding
}

// A managedFieldsRefusal is the key for a server that does not omit the managed fields of a resource.
type managedFieldsRefusal struct{ resource schema.GroupVersionResource }

// remembered is the time for which a refusal is remembered. The server may be upgraded meanwhile, and during an upgrade
// the refusal may be that of an old replica.
const remembered = time.Hour

func (r *refusals) add(key any) { r.until.Store(key, time.Now().Add(remembered)) }

func (r *refusals) has(key any) bool {
	until, ok := r.until.Load(key)
	return ok && time.Now().Before(until.(time.Time))
}
