// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package podfiles

import (
	"context"
	"errors"
	"io"
)

// Download copies a file or folder of the container to this machine, where it gets the path local.
//
// Errors: [ErrNoTar], [*PartialError], [*LimitError]; what tar says when there is nothing at remote.
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
		archive.CloseWithError(err) // the process need not go on then
		unpacked <- err
	}()
	said := &complaints{}
	err = p.Run(nil, sink, said)
	sink.CloseWithError(cut(err))
	unpackErr := <-unpacked
	switch broken := (*brokenArchive)(nil); {
	case err == nil && unpackErr == nil:
		return out.counter.Stats, out.partial.orNil()
	case unpackErr != nil && (err == nil || !errors.As(unpackErr, &broken)):
		err = unpackErr
	default: // an archive that breaks off says less than the reason why
		err = explain(err, said)
	}
	return out.counter.Stats, errors.Join(err, out.partial.orNil())
}

// cut returns what the reader of the archive is told: an archive after which tar has failed is all that there is of it.
func cut(err error) error {
	if err == nil {
		return io.EOF
	}
	return io.ErrUnexpectedEOF
}
