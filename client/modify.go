// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kube-go/sdk/client/internal/backoff"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
)

// ModifyOptions are the options of [API.Modify], [API.CreateOrUpdate] and [Subresource.Modify].
type ModifyOptions struct {
	DryRun          bool   // run the requests without storing the result; default: false
	FieldManager    string // the owner of the fields; default: the client's, or derived from the user agent
	FieldValidation string // such as [metav1.FieldValidationStrict]; default: the server's

	// MaxAttempts is the maximum number of times that the object is read, changed and written if other clients change it
	// at the same time. Default: 10.
	MaxAttempts int
}

// Modify reads an object, calls change with it, and writes the difference as a merge patch that the server accepts only
// at the version that was read. If another client was faster, Modify starts over with the new version. It returns the
// object as stored. If change changes nothing, nothing is sent.
//
// Fields that K does not declare are kept, also in lists, see [Entry.Commit]. An error of change ends Modify. Change
// may be called several times, so it should have no other effects.
//
// A write whose response is lost is not sent again, since it may have succeeded: Modify returns the error of the
// connection. A caller that repeats Modify then must expect that the change has been made.
//
// Errors: [core.ErrNotFound]; [core.ErrConflict] after the last attempt; [core.ErrInvalid]; a [*request.InvalidError]
// when change touches a field that can't be written this way, such as the status of a kind that has it as a
// subresource.
func (a *API[K]) Modify(ctx context.Context, name string, change func(*K) error, o *ModifyOptions) (*K, error) {
	return a.modify(ctx, name, change, o, false)
}

// CreateOrUpdate is [API.Modify] for an object that may not exist. If it does not, CreateOrUpdate calls change with an
// object that has only its name, namespace and kind, and creates the result.
//
// Errors: those of [API.Modify] except [core.ErrNotFound].
func (a *API[K]) CreateOrUpdate(ctx context.Context, name string, change func(*K) error, o *ModifyOptions) (*K, error) {
	return a.modify(ctx, name, change, o, true)
}

// Modify is [API.Modify] for the fields that the subresource writes, such as the status.
//
// Errors: those of [API.Modify].
func (s *Subresource[K]) Modify(ctx context.Context, name string, change func(*K) error, o *ModifyOptions) (*K, error) {
	return s.api.modify(ctx, name, change, o, false)
}

func (a *API[K]) modify(
	ctx context.Context,
	name string,
	change func(*K) error,
	o *ModifyOptions,
	create bool,
) (*K, error) {
	if o == nil {
		o = &ModifyOptions{}
	}
	attempts := o.MaxAttempts
	switch {
	case attempts == 0:
		attempts = 10
	case attempts < 0:
		return nil, WrapError(
			"modify",
			a.named(name),
			&request.InvalidError{Field: "ModifyOptions.MaxAttempts", Detail: "is negative"},
		)
	}
	write := &request.PatchOptions{DryRun: o.DryRun, FieldManager: o.FieldManager, FieldValidation: o.FieldValidation}
	for n := 1; ; n++ {
		obj, tooLate, err := a.modifyOnce(ctx, name, change, write, create)
		switch {
		case !tooLate:
			return obj, err
		case n == attempts:
			return nil, afterAttempts(err, n)
		}
		if err := backoff.Sleep(ctx, backoff.Delay(n, 10*time.Millisecond, time.Second)); err != nil {
			return nil, WrapError("modify", a.named(name), err)
		}
	}
}

// modifyOnce reads, changes and writes. It reports whether it failed because another client wrote meanwhile.
func (a *API[K]) modifyOnce(
	ctx context.Context, name string, change func(*K) error, o *request.PatchOptions, create bool,
) (_ *K, tooLate bool, err error) {
	entry, err := a.Entry(ctx, name, nil)
	if err != nil {
		return nil, false, err
	}
	there := entry.Exists()
	switch {
	case !there && !create:
		return nil, false, entry.missing
	case !there:
		entry.OrInsert(a.addressed(name))
	}
	if err := change(entry.Object()); err != nil {
		return nil, false, WrapError("modify", entry.target, err)
	}
	obj, err := entry.Commit(ctx, o)
	switch {
	case errors.Is(err, core.ErrConflict):
		tooLate = true
	case create && there: // and deleted since
		se, ok := errors.AsType[*core.StatusError](err)
		tooLate = ok && names(se, a.target.Resource.Plural, name)
	case create: // and created since
		tooLate = errors.Is(err, core.ErrAlreadyExists)
	}
	return obj, tooLate, err
}

// afterAttempts adds the number of attempts to the error of a verb.
func afterAttempts(err error, n int) error {
	op, ok := errors.AsType[*OpError](err)
	if !ok || n == 1 {
		return err
	}
	again := *op
	again.Err = fmt.Errorf("after %d attempts: %w", n, op.Err)
	return &again
}
