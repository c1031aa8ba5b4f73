// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Command hygiene checks the files of the repository around the working directory, including those that are not
// committed yet: Go files start with the licence, except files that are copied into other projects; no file is large or
// binary; and no file mentions a folder of the machine on which it was written.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	header   = "// Copyright The kube authors.\n// SPDX-License-Identifier: Apache-2.0\n\n"
	maxBytes = 256 << 10

	// kube-derive copies these files into new projects, whose owners choose the licence.
	given = "derive/internal/scaffold/testdata/"
)

func main() {
	complaints, err := run()
	if err != nil {
		fmt.Fprintln(os.Stderr, "hygiene:", err)
		os.Exit(2)
	}
	for _, complaint := range complaints {
		fmt.Println(complaint)
	}
	if len(complaints) > 0 {
		os.Exit(1)
	}
}

func run() (complaints []string, err error) {
	root, err := output("git", "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, err
	}
	cache, err := output("go", "env", "GOMODCACHE")
	if err != nil {
		return nil, err
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, err
	}
	names, err := output("git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		return nil, err
	}
	for name := range strings.SplitSeq(strings.Trim(names, "\x00"), "\x00") {
		content, err := os.ReadFile(filepath.Join(root, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted, but not yet committed
		}
		if err != nil {
			return nil, err
		}
		complaints = append(complaints, check(name, content, root, cache, home)...)
	}
	return complaints, nil
}

func output(program string, args ...string) (string, error) {
	cmd := exec.Command(program, args...) //nolint:noctx // the command takes little time
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", strings.Join(cmd.Args, " "), err)
	}
	return strings.TrimSuffix(string(out), "\n"), nil
}

// check returns the complaints about a file.
func check(name string, content []byte, folders ...string) (complaints []string) {
	complain := func(line int, format string, args ...any) {
		complaints = append(complaints, fmt.Sprintf("%s:%d: ", name, line)+fmt.Sprintf(format, args...))
	}
	if strings.HasSuffix(name, ".go") && !strings.HasPrefix(name, given) && !bytes.HasPrefix(content, []byte(header)) {
		complain(1, "the file does not start with the licence:\n%s", header)
	}
	if len(content) > maxBytes {
		complain(1, "the file has %d KiB, and the limit is %d KiB: make it smaller", len(content)>>10, maxBytes>>10)
	}
	if bytes.IndexByte(content, 0) >= 0 && !strings.Contains(name, "testdata/") {
		complain(1, "the file is binary: move it to a testdata folder")
	}
	for _, folder := range folders {
		// A short path, such as /src, may have another meaning.
		at := bytes.Index(content, []byte(folder))
		if at >= 0 && strings.Count(folder, "/") > 1 {
			complain(1+bytes.Count(content[:at], []byte("\n")), "the file mentions a folder of this machine: remove %s", folder)
		}
	}
	return complaints
}
