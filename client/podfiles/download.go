// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package podfiles

import (
	"context"
	"errors"
	"io"
)

// Download copies a file or directory of the container to the local path.
//
// Errors: [ErrNoTar], [*PartialError], [*LimitError]; an error with the message of tar if remote does not exist.
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
	sink.CloseWithError(cut(err))
	unpackErr := <-unpacked
	switch broken := (*brokenArchive)(nil); {
	case err == nil && unpackErr == nil:
		return out.counter.Stats, out.partial.orNil()
	case unpackErr != nil && (err == nil || !errors.As(unpackErr, &broken)):
		err = unpackErr
	default: // the error of tar is more precise than that of a truncated archive
		err = explain(err, said)
	}
	return out.counter.Stats, errors.Join(err, out.partial.orNil())
}

// cut returns the error for the reader of the archive. After a failure of tar, the end of the archive is unexpected.
func cut(err error) error {
	if err == nil {
		return io.EOF
	}
	return io.ErrUnexpectedEOF
}
