// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCheckFindsFilesThatDoNotBelongInTheRepository(t *testing.T) {
	for _, tt := range []struct {
		name, file, content string
		want                []string
	}{
		{"a Go file with the licence", "core/a.go", header + "package core\n", nil},
		{"a Go file without the licence", "core/a.go", "package core\n", []string{"core/a.go:1: the file does not start with the licence:\n" + header}},
		{"a Go file whose licence would be a package comment", "core/a.go", strings.TrimSuffix(header, "\n") + "package core\n", []string{"core/a.go:1: the file does not start with the licence:\n" + header}},
		{"deep copies with the licence", "core/a.go", copies + header + "package core\n", nil},
		{"a Go file for new projects", given + "project/main.go", "package main\n", nil},
		{"a text", "README.md", "text\n", nil},
		{"a big file", "data.json", strings.Repeat("[]\n", 100_000), []string{"data.json:1: the file has 292 KiB, and the limit is 256 KiB: make it smaller"}},
		{"a binary file", "bin/kube", "\x7fELF\x00", []string{"bin/kube:1: the file is binary: move it to a testdata folder"}},
		{"a binary file in testdata", "core/testdata/pod.bin", "k8s\x00", nil},
		{"a folder of the machine", "README.md", "one\ncd /home/jane/sdk\n", []string{"README.md:2: the file mentions a folder of this machine: remove /home/jane"}},
		{"a folder of many machines", "Dockerfile", "COPY . /src\n", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, check(tt.file, []byte(tt.content), "/home/jane", "/src")); diff != "" {
				t.Errorf("complaints (-want +got):\n%s", diff)
			}
		})
	}
}
