// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package args parses command lines that mix flags and names.
package args

import (
	"errors"
	"flag"
	"fmt"
	"io"
)

// Parse sets the flags and returns the names. All arguments after "--" are names. Parse prints nothing: the caller
// prints the error, or the help text if the error is [flag.ErrHelp].
func Parse(flags *flag.FlagSet, args []string) (names []string, err error) {
	flags.SetOutput(io.Discard)
	for {
		switch err := flags.Parse(args); {
		case errors.Is(err, flag.ErrHelp):
			return nil, err
		case err != nil:
			return nil, fmt.Errorf("%w; use -h for help", err)
		case flags.NArg() == 0:
			return names, nil
		}
		rest := flags.Args()
		if read := len(args) - len(rest); read > 0 && args[read-1] == "--" {
			return append(names, rest...), nil
		}
		names, args = append(names, rest[0]), rest[1:]
	}
}
