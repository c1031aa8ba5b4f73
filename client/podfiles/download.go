// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package podfiles

import (
	"context"
	"errors"
	"io"

	"github.com/kube-go/sdk/client/pod"
)

// Download copies a file or directory of the container to the local path.
//
// Errors: [ErrNoTar], [*PartialError], [*LimitError]; an error with the message of tar if remote does not exist. A file
// that grows while it is copied, such as a log, is copied with the size that it had at first.
func (f *Files) Download(ctx context.Context, remote, local string) (Stats, error) {
	dir, name, err := remotePath(remote)
	if err != nil {
		return Stats{}, err
	}
	out, err := newExtraction(local, name, f.opts)
	if err != nil {
		return Stats{}, err
	}
	defer out.close()
	p, err := f.exec(ctx, []string{"tar", "-c", "-f", "-", "-C", dir, "./" + name}, false)
	if err != nil {
		return Stats{}, err
	}
	defer p.Close()

	out.counter = f.newCounter()
	archive, sink := io.Pipe()
	unpacked := make(chan error, 1)
	go func() {
		err := out.unpack(archive)
		archive.CloseWithError(err) // stops the process
		unpacked <- err
	}()
	said := &complaints{}
	err = p.Run(nil, sink, said)
	exit, exited := errors.AsType[*pod.ExitError](err)
	if err == nil || exited {
		_ = sink.Close() // never fails
	} else {
		sink.CloseWithError(io.ErrUnexpectedEOF)
	}
	unpackErr := <-unpacked
	switch broken := (*brokenArchive)(nil); {
	case unpackErr == nil && (err == nil || exited && out.root != nil && said.addTo(&out.partial, exit.Code)):
		return out.counter.Stats, out.partial.orNil()
	case unpackErr != nil && (err == nil || !errors.As(unpackErr, &broken)):
		err = unpackErr
	default: // the error of tar is more precise than that of a truncated archive
		err = explain(err, said)
	}
	return out.counter.Stats, errors.Join(err, out.partial.orNil())
}
