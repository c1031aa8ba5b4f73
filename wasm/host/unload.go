// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/kube-go/sdk/core/abi"
)

// unload stores the memory of an idle instance in a file, unless the guest refuses. Its operations go on: their items
// and the next timer of the guest load it again.
func (i *instance) unload() error {
	if i.body == nil || i.image == nil || len(i.guest.pending) > 0 {
		return nil
	}
	if i.guest.program.quiesces {
		_, code, err := i.perform(&export{Name: abi.Quiesce, Reason: abi.ReasonUnload})
		if err != nil || code != 0 {
			return err
		}
	}
	f, err := os.CreateTemp(i.guest.host.dir, "instance")
	if err != nil {
		return fmt.Errorf("unload: %w", err)
	}
	if err := errors.Join(i.body.Snapshot(f), f.Close()); err != nil {
		return fmt.Errorf("unload: %w", errors.Join(err, os.Remove(f.Name())))
	}
	i.store = f.Name()
	body := i.body
	i.body = nil
	return body.Close(context.WithoutCancel(i.ctx))
}

// load restores the memory of an unloaded instance.
func (i *instance) load() error {
	f, err := os.Open(i.store)
	if err != nil {
		return fmt.Errorf("load: %w", err)
	}
	defer f.Close()
	if i.body, err = i.image.Restore(i.ctx, i.guest.program.compiled, i.config(), f); err != nil {
		return fmt.Errorf("load: %w", err)
	}
	i.forget()
	return nil
}

// forget removes the file of an unloaded instance.
func (i *instance) forget() {
	if i.store != "" {
		_ = os.Remove(i.store) // the directory is removed at the end
		i.store = ""
	}
}
