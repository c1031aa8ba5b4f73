// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package args reads command lines on which flags and names may stand in any order.
package args

import (
	"errors"
	"flag"
	"fmt"
	"io"
)

// Parse sets the flags and returns the names, to which belongs all that stands behind "--". It prints nothing: the help,
// when the error is flag.ErrHelp, is for the caller to print, and so are mistakes.
func Parse(flags *flag.FlagSet, args []string) (names []string, err error) {
	flags.SetOutput(io.Discard)
	for {
		switch err := flags.Parse(args); {
		case errors.Is(err, flag.ErrHelp):
			return nil, err
		case err != nil:
			return nil, fmt.Errorf("%w; -h says more", err)
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
