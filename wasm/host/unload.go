// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/kube-go/sdk/core/abi"
)

// keepAfter is the time for which an instance stays loaded after its memory could not be stored.
const keepAfter = time.Minute

// park lets other instances of the program run with what this one ran with, until its next call.
func (i *instance) park() {
	if i.body != nil {
		i.body.Park()
	}
}

// touch records that the guest has something to do. A version of a watch is nothing, unless the guest may wait for it:
// otherwise the versions of many watches, each once a minute, would keep an idle instance loaded.
func (i *instance) touch(it item) {
	if !it.quiet || i.awaitsVersion() {
		i.used = time.Now()
	}
}

// unload stores the memory of an idle instance in a file, unless the guest refuses. Its operations go on: their items
// and the next timer of the guest load it again. If the host can't store it, it stays loaded. An error means that the
// guest has failed.
func (i *instance) unload(now time.Time) error {
	if i.body == nil || i.image == nil || len(i.guest.pending) > 0 {
		return nil
	}
	if i.guest.program.quiesces {
		_, code, err := i.perform(&export{Name: abi.Quiesce, Reason: abi.ReasonUnload})
		if err != nil || code != 0 {
			return err
		}
	}
	if err := i.save(); err != nil {
		i.keep = now.Add(keepAfter)
		i.guest.logger.LogAttrs(i.ctx, slog.LevelWarn, "module stays in memory", slog.Any("err", err))
		return nil
	}
	body := i.body
	i.body = nil
	i.guest.unloadedOnce(i)
	_ = body.Close() // it has nothing that can fail to close
	return nil
}

// save stores the memory in a file, which has no name while it is used: a program that is killed leaves no memory of
// modules behind.
func (i *instance) save() error {
	f, err := os.CreateTemp("", "kube-wasm-")
	if err != nil {
		return err
	}
	i.store, i.path = f, ""
	if os.Remove(f.Name()) != nil { // on a system that does not remove open files
		i.path = f.Name()
	}
	if err := i.body.Snapshot(f); err != nil {
		i.removeStore()
		return err
	}
	return nil
}

// load restores the memory of an unloaded instance. An error is one of the host: the module does not run meanwhile.
func (i *instance) load() error {
	_, err := i.store.Seek(0, io.SeekStart)
	if err == nil {
		i.body, err = i.image.Restore(i.ctx, i.config(), i.store)
	}
	if err != nil {
		return hostError{fmt.Errorf("load: %w", err)}
	}
	i.removeStore()
	g := i.guest
	g.mu.Lock()
	g.unloaded = false
	g.mu.Unlock()
	return nil
}

// removeStore removes the file of an unloaded instance.
func (i *instance) removeStore() {
	if i.store == nil {
		return
	}
	_ = i.store.Close() // nobody needs what it has
	i.store = nil
	if i.path != "" {
		_ = os.Remove(i.path) // it is a temporary file
	}
}
