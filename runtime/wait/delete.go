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

// replacements is how often DeleteAndWait finds another object of the same name before it returns the conflict.
const replacements = 3

// DeleteAndWait deletes the object of a name and waits until it is deleted, even if another object has taken its name.
// It deletes the object that it reads first, by UID. A connection that breaks and a server that is busy only delay it,
// so give ctx a deadline. It takes the rights to get, delete, list and watch.
//
// Errors: [core.ErrNotFound] for an object that does not exist; [core.ErrConflict] when a precondition does not hold;
// the context's cause when it ends first, with what delays the deletion.
func DeleteAndWait[K any, P core.ObjectPtr[K]](ctx context.Context, api *client.API[K], name string, o *request.DeleteOptions) error {
	var opts request.DeleteOptions
	if o != nil {
		opts = *o
	}
	if opts.DryRun {
		t := request.Target{Resource: api.Resource(), Namespace: api.Namespace(), Name: name}
		return client.WrapError("delete", t, &request.InvalidError{
			Field: "DeleteOptions.DryRun", Detail: "deletes nothing to wait for; use Delete",
		})
	}
	conditional := opts.UID != "" || opts.ResourceVersion != "" // the caller's own preconditions
	known := opts.UID != ""
	for n := 1; ; n++ {
		if !known {
			obj, err := api.Metadata().Get(ctx, name, nil)
			if err != nil {
				return err
			}
			opts.UID = obj.UID
		}
		err := api.Delete(ctx, name, &opts)
		switch {
		case err == nil, apierr.NotFound(err):
			return Gone(ctx, api.Metadata(), name, opts.UID, nil)
		case !errors.Is(err, core.ErrConflict) || conditional || n == replacements:
			return err
		}
	}
}
