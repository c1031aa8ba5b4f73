// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

func pause(ctx context.Context, _ []string, _ streams) error {
	<-ctx.Done()
	return nil
}

func sleep(_ context.Context, args []string, _ streams) error {
	duration, err := time.ParseDuration(args[0])
	if err != nil {
		return usageError(err.Error())
	}
	time.Sleep(duration)
	return nil
}

func exit(_ context.Context, args []string, _ streams) error {
	status, err := strconv.ParseUint(args[0], 10, 8)
	if err != nil {
		return usageError(fmt.Sprintf("%q is not a status from 0 to 255", args[0]))
	}
	if status == 0 {
		return nil
	}
	return exitError(status)
}

func echo(_ context.Context, args []string, std streams) error {
	out := std.out
	if len(args) > 0 && args[0] == "-stderr" {
		out, args = std.err, args[1:]
	}
	_, err := fmt.Fprintln(out, strings.Join(args, " "))
	return err
}

func cat(_ context.Context, args []string, std streams) error {
	if len(args) == 0 {
		_, err := io.Copy(std.out, std.in)
		return err
	}
	for _, name := range args {
		file, err := os.Open(name)
		if err != nil {
			return err
		}
		_, err = io.Copy(std.out, file)
		file.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

func lines(_ context.Context, args []string, std streams) error {
	count, err := strconv.ParseUint(args[0], 10, 63)
	if err != nil {
		return usageError(fmt.Sprintf("%q is not a number of lines", args[0]))
	}
	var interval time.Duration
	if len(args) > 1 {
		if interval, err = time.ParseDuration(args[1]); err != nil {
			return usageError(err.Error())
		}
	}
	for number := range count {
		if number > 0 {
			time.Sleep(interval)
		}
		if _, err := fmt.Fprintln(std.out, "line", number+1); err != nil {
			return err
		}
	}
	return nil
}

func env(_ context.Context, args []string, std streams) error {
	all := os.Environ()
	if len(args) == 0 {
		slices.Sort(all)
		_, err := fmt.Fprintln(std.out, strings.Join(all, "\n"))
		return err
	}
	for _, name := range args {
		value, ok := os.LookupEnv(name)
		if !ok {
			return fmt.Errorf("%s is not set", name)
		}
		if _, err := fmt.Fprintln(std.out, value); err != nil {
			return err
		}
	}
	return nil
}

func ls(_ context.Context, args []string, std streams) error {
	if len(args) == 0 {
		args = []string{"."}
	}
	for _, dir := range args {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, entry := range entries {
			info, err := entry.Info()
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintln(std.out, info.Mode(), info.Size(), info.Name()); err != nil {
				return err
			}
		}
	}
	return nil
}
