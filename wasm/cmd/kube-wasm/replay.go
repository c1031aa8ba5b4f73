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
	files, rest, err := parse(flag.NewFlagSet("replay", flag.ContinueOnError), args)
	if err != nil {
		return err
	}
	if len(files) != 2 || len(rest) > 0 {
		return fmt.Errorf("replay takes a module and a recording, not %d files; %w", len(files)+len(rest), errUsage)
	}
	m, err := registry.ReadFile(files[0], 0)
	if err != nil {
		return err
	}
	recording, err := os.Open(files[1])
	if err != nil {
		return err
	}
	defer recording.Close()
	calls, err := host.Replay(ctx, m.Binary, recording, nil)
	if err != nil {
		return fmt.Errorf("%s: %w", files[1], err)
	}
	_, err = fmt.Fprintf(stdout, "%d calls are the same\n", calls)
	return err
}
