// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"context"
	"errors"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/runtime/internal/apierr"
)

// deletions is the number of conflicts with the same object after which DeleteAndWait gives up.
const deletions = 3

// DeleteAndWait deletes the object with the given name and waits until it is deleted, even if another object takes its
// name. It deletes the object that it reads first, by UID. Broken connections and busy servers delay it, so give ctx a
// deadline. It needs permission to get, delete, list and watch.
//
// Errors: [core.ErrNotFound] if the object does not exist, unless o has its UID; [core.ErrConflict] if a precondition
// does not hold; the context's cause if the context ends first, with what delays the deletion.
func DeleteAndWait[K any, P core.ObjectPtr[K]](
	ctx context.Context,
	api *client.API[K],
	name string,
	o *request.DeleteOptions,
) error {
	var opts request.DeleteOptions
	if o != nil {
		opts = *o
	}
	if opts.DryRun {
		t := request.Target{Resource: api.Resource(), Namespace: api.Namespace(), Name: name}
		return client.WrapError("delete", t, &request.InvalidError{
			Field: "DeleteOptions.DryRun", Detail: "a dry run deletes no object to wait for: use Delete",
		})
	}
	conditional := opts.UID != "" || opts.ResourceVersion != "" // the caller's own preconditions
	if opts.UID == "" {
		obj, err := api.Metadata().Get(ctx, name, nil)
		if err != nil {
			return err
		}
		opts.UID = obj.UID
	}
	for n := 1; ; n++ {
		err := api.Delete(ctx, name, &opts)
		switch {
		case err == nil, apierr.NotFound(err):
			if isNamespace(api.Resource()) { // its spec and status have what delays its deletion
				return Gone(ctx, client.Dynamic(api.Client(), api.Resource()), name, opts.UID, nil)
			}
			return Gone(ctx, api.Metadata(), name, opts.UID, nil)
		case removed(ctx, api, err):
			return nil
		case !errors.Is(err, core.ErrConflict) || conditional:
			return err
		}
		// Another object may have the name: the response to an earlier attempt was lost, or another client was faster.
		obj, unread := api.Metadata().GetOrNil(ctx, name, nil)
		switch {
		case unread != nil:
			return unread
		case obj == nil || obj.UID != opts.UID:
			return nil
		case n == deletions:
			return err
		}
	}
}
