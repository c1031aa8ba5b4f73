// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/kube-go/sdk/wasm/host"
	"github.com/kube-go/sdk/wasm/registry"
)

// recordings is how the names of recordings end.
const recordings = ".tape"

// replayFile repeats the calls of a recording.
func replayFile(ctx context.Context, args []string, stdout io.Writer) error {
	return withRecording("replay", args, func(binary []byte, recording io.Reader) error {
		calls, err := host.Replay(ctx, binary, recording, nil)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(stdout, "%d calls are the same\n", calls)
		return err
	})
}

// withRecording opens the files of a command that takes a module and a recording. The error of f gets the recording's
// name.
func withRecording(command string, args []string, f func(binary []byte, recording io.Reader) error) error {
	files, rest, err := parse(flag.NewFlagSet(command, flag.ContinueOnError), args)
	if err != nil {
		return err
	}
	if len(files) != 2 || len(rest) > 0 {
		return fmt.Errorf("%s takes a module and a recording, not %d files; %w", command, len(files)+len(rest), errUsage)
	}
	m, err := registry.ReadFile(files[0])
	if err != nil {
		return err
	}
	recording, err := os.Open(files[1])
	if err != nil {
		return err
	}
	defer recording.Close()
	if err := f(m.Binary, recording); err != nil {
		return fmt.Errorf("%s: %w", files[1], err)
	}
	return nil
}
