// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/kube-go/sdk/core/wire"
)

// Replay runs a module with a recording of [Module.Record], and returns the number of calls of the host that were
// replayed. Nothing is sent to a server. What the module does is compared with the recording, byte for byte; the first
// difference is an error. The recorded module must have the same digest. Of the options, only CompilationDir is used.
func Replay(ctx context.Context, binary []byte, recording io.Reader, o *Options) (calls int, err error) {
	t, c, err := openTape(recording)
	if err != nil {
		return 0, err
	}
	if digest := digestOf(binary); digest != c.Digest {
		return 0, fmt.Errorf("the recording is of the module %s, not of %s", c.Digest, digest)
	}
	g, end, err := isolated(ctx, binary, c, o)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, end()) }()
	i, err := g.host.newInstance(g, t)
	if err != nil {
		return 0, err
	}
	defer i.end(context.Canceled)
	for {
		_, data, err := t.read()
		if err == io.EOF {
			return calls, nil
		}
		if err != nil {
			return calls, err
		}
		var e export
		if err := wire.UnmarshalJSON(data, &e); err != nil {
			return calls, err
		}
		if err := i.replay(&e); err != nil {
			return calls, fmt.Errorf("call %d, %s: %w", calls, e.Name, err)
		}
		calls++
	}
}

// replay calls an export. A failure that was recorded is not an error.
func (i *instance) replay(e *export) error {
	_, _, err := i.act(e)
	if err == nil {
		return nil
	}
	if _, peeked := i.tape.peek(); peeked == io.EOF && !errors.Is(err, errDiverged) {
		return nil // the recorded instance ended here, too
	}
	return err
}
