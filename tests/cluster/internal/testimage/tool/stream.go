// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
)

// stream returns the first size bytes of the stream that `write` prints: the output of ChaCha8 with a seed of zeros.
func stream(size int64) io.Reader { return io.LimitReader(rand.NewChaCha8([32]byte{}), size) }

func write(_ context.Context, args []string, std streams) error {
	summed, waits := args[0] == "-sum", args[0] == "-wait"
	if summed || waits {
		args = args[1:]
	}
	if len(args) != 1 {
		return usageError("want one size")
	}
	size, err := parseSize(args[0])
	if err != nil {
		return err
	}
	if summed {
		return printSum(std.out, stream(size))
	}
	if _, err = io.Copy(std.out, stream(size)); err != nil || !waits {
		return err
	}
	_, err = io.Copy(io.Discard, std.in)
	return err
}

func sum(_ context.Context, _ []string, std streams) error { return printSum(std.out, std.in) }

func printSum(w io.Writer, r io.Reader) error {
	hash := sha256.New()
	length, err := io.Copy(hash, r)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%x %d\n", hash.Sum(nil), length)
	return err
}

// parseSize parses a number of bytes, KiB, MiB or GiB, such as "10", "10K", "10M", "10G".
func parseSize(text string) (int64, error) {
	number, shift := text, 0
	for i, unit := range []string{"K", "M", "G"} {
		if before, ok := strings.CutSuffix(text, unit); ok {
			number, shift = before, 10*(i+1)
		}
	}
	size, err := strconv.ParseInt(number, 10, 64)
	if err != nil || size < 0 || size > math.MaxInt64>>shift {
		return 0, usageError(fmt.Sprintf("%q is not a size, such as 10 or 64M", text))
	}
	return size << shift, nil
}
