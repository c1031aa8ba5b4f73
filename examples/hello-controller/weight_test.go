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

// The limits for a program that watches one built-in kind. The equivalent with controller-runtime links 55 third-party
// modules and has 44.8 MB; k8s.io/api/core/v1 alone adds 18 modules and 13.7 MB.
const (
	maxModules = 26
	maxBytes   = 18_240_000
)

func TestControllerStaysSmall(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "hello-controller")
	// The binary has the paths of source files: without -trimpath, its size depends on the place of the checkout.
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", binary, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	var thirdParty []string
	for _, m := range info.Deps {
		if !strings.HasPrefix(m.Path, "github.com/kube-go/sdk/") {
			thirdParty = append(thirdParty, m.Path)
		}
	}
	stat, err := os.Stat(binary)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("hello-controller links %d third-party modules (limit %d) and has %.2f MB unstripped (limit %.2f)",
		len(thirdParty), maxModules, float64(stat.Size())/1e6, maxBytes/1e6)
	if len(thirdParty) > maxModules {
		t.Errorf("%d third-party modules, want at most %d:\n%s", len(thirdParty), maxModules, strings.Join(thirdParty, "\n"))
	}
	if stat.Size() > maxBytes {
		t.Errorf("the binary has %d bytes, want at most %d", stat.Size(), maxBytes)
	}
}
