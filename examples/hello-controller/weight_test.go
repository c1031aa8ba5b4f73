// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"debug/buildinfo"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What a program that watches one built-in kind may weigh. controller-runtime's equivalent links 55 modules that are
// not ours and has 44.8 MB; k8s.io/api/core/v1 alone brings 18 modules and 13.7 MB.
const (
	maxModules = 26
	maxBytes   = 18_000_000
)

// TestWeight holds the promise that a controller is light.
func TestWeight(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "hello-controller")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	var foreign []string
	for _, m := range info.Deps {
		if !strings.HasPrefix(m.Path, "github.com/kube-go/sdk/") {
			foreign = append(foreign, m.Path)
		}
	}
	stat, err := os.Stat(binary)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("hello-controller links %d modules that are not ours (at most %d) and has %.1f MB unstripped (at most %.0f)",
		len(foreign), maxModules, float64(stat.Size())/1e6, maxBytes/1e6)
	if len(foreign) > maxModules {
		t.Errorf("too many modules:\n%s", strings.Join(foreign, "\n"))
	}
	if stat.Size() > maxBytes {
		t.Errorf("%d bytes are too many", stat.Size())
	}
}
