// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
)

// Get reads an object into obj, which has a kind and a name, and reports whether the object exists. It reads from the
// views, from the server, or, in a plan, what the plan would write. It returns the object as the pass has applied or
// deleted it, also if the views are behind. An object without a namespace is in that of the owner.
func (p *Pass) Get(ctx context.Context, obj core.Object) (exists bool, err error) {
	switch {
	case p.invalid != nil:
		return false, p.invalid
	case isNil(obj):
		return false, errors.New("the object to read is nil")
	}
	t, err := p.target(ctx, obj, nil)
	if err != nil {
		return false, fmt.Errorf("the object to read%s: %w", describe(obj), err)
	}
	live, err := p.latest(ctx, &t)
	if live == nil || err != nil {
		return false, err
	}
	fields, err := live.content(ctx, p.world, &t, fieldsOf(obj))
	if err != nil {
		return false, err
	}
	data, err := wire.MarshalJSON(fields)
	if err != nil {
		return false, err
	}
	reflect.ValueOf(obj).Elem().SetZero()
	return true, wire.UnmarshalJSON(data, obj)
}

// latest returns an object, or nil if it does not exist. It is not older than what the applier has written.
func (p *Pass) latest(ctx context.Context, t *target) (*object, error) {
	if d := p.declared[t.key]; d != nil && d.reached {
		return d.live, nil
	}
	live, err := p.world.read(ctx, t, p.deleted[t.key])
	if live == nil || err != nil || !live.state.Exists() {
		return live, err
	}
	if known, ok := p.applier.memos.get(t.key); ok && known.isAhead(live) {
		return p.world.read(ctx, t, true)
	}
	return live, nil
}
