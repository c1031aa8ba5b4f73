// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package build_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/kube-go/sdk/tests/cluster/internal/build"
)

// hello returns a module that prints a text.
func hello(text string) build.Target {
	program := "package main\n\nvar version = \"none\"\n\nfunc main() { println(" + text + " + version) }\n"
	return build.Target{
		Name: "hello", Title: "hello",
		Sources: fstest.MapFS{
			"go.mod.txt": {Data: []byte("module hello\n\ngo 1.26.0\n")},
			"main.go":    {Data: []byte(program)},
		},
	}
}

func output(t *testing.T, dir string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), filepath.Join(dir, "hello")).CombinedOutput()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func TestConcurrentCallsBuildOnce(t *testing.T) {
	cache := t.TempDir()
	var mu sync.Mutex
	built := 0
	progress := func(line string) {
		mu.Lock()
		defer mu.Unlock()
		if strings.HasPrefix(line, "built ") {
			built++
		}
	}
	target := hello(`"hi "`)
	target.LDFlags = "-X main.version=v1"
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			dir, err := build.GoBuild(t.Context(), target, cache, progress)
			if err != nil {
				t.Errorf("GoBuild = %v", err)
				return
			}
			if got := output(t, dir); got != "hi v1" {
				t.Errorf("the program prints %q, want %q", got, "hi v1")
			}
		})
	}
	wait.Wait()
	if built != 1 {
		t.Errorf("it was built %d times, want once", built)
	}
	if left, err := filepath.Glob(filepath.Join(cache, "*.building")); err != nil || len(left) > 0 {
		t.Errorf("remaining files: %v, %v", left, err)
	}
}

func TestDifferentTargetsHaveDifferentDirectories(t *testing.T) {
	cache := t.TempDir()
	flagged := hello(`"a"`)
	flagged.LDFlags = "-X main.version=v2"
	replaced := hello(`"a"`)
	replaced.Overlay = map[string][]byte{"main.go": []byte("package main\n\nfunc main() { println(\"c\") }\n")}
	for want, target := range map[string]build.Target{
		"anone": hello(`"a"`), "bnone": hello(`"b"`), "av2": flagged, "c": replaced,
	} {
		dir, err := build.GoBuild(t.Context(), target, cache, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := output(t, dir); got != want {
			t.Errorf("the program prints %q, want %q", got, want)
		}
	}
}

func TestBuildsIgnoreTheFlagsOfTheUser(t *testing.T) {
	config := filepath.Join(t.TempDir(), "env") // as `go env -w` writes it
	if err := os.WriteFile(config, []byte("GOFLAGS=-toolexec=/does/not/exist\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOENV", config)
	for _, flags := range []string{"", "-toolexec=/does/not/exist"} {
		t.Setenv("GOFLAGS", flags)
		if _, err := build.GoBuild(t.Context(), hello(`"hi"`), t.TempDir(), nil); err != nil {
			t.Errorf("GoBuild with GOFLAGS=%s: %v", flags, err)
		}
	}
}

func TestFailedBuildReturnsTheCompilersErrorAndRemovesItsFiles(t *testing.T) {
	cache := t.TempDir()
	_, err := build.GoBuild(t.Context(), hello(`nowhere`), cache, nil)
	if err == nil || !strings.Contains(err.Error(), "undefined: nowhere") {
		t.Errorf("GoBuild = %v, want the compiler's error", err)
	}
	entries, err := os.ReadDir(cache)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".lock") {
			t.Errorf("remaining file: %s", entry.Name())
		}
	}
}

func TestGitIgnoresANewCache(t *testing.T) {
	parent := t.TempDir()
	for _, dir := range []string{filepath.Join(parent, "new", "cache"), parent} {
		for range 2 {
			if err := build.MakeCache(dir); err != nil {
				t.Fatal(err)
			}
		}
	}
	ignored, err := os.ReadFile(filepath.Join(parent, "new", "cache", ".gitignore"))
	if err != nil || string(ignored) != "*\n" {
		t.Errorf(".gitignore = %q, %v; want all files", ignored, err)
	}
	if _, err := os.Stat(filepath.Join(parent, ".gitignore")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an existing directory has a .gitignore: %v", err)
	}
}

func TestLockReportsThatItWaitsAndEndsWithTheContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, err := build.Lock(t.Context(), path, func() { t.Error("the first one waits") })
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	cause := errors.New("enough")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, cause)
	defer cancel()
	told := false
	if _, err := build.Lock(ctx, path, func() { told = true }); !errors.Is(err, cause) {
		t.Errorf("Lock = %v, want %v", err, cause)
	}
	if !told {
		t.Error("the callback was not called")
	}
}

func TestKubernetesRejectsInvalidVersions(t *testing.T) {
	for _, version := range []string{"1.36", "v1.36", "latest", "v2.0.0", "v1.36.3; rm -rf /"} {
		_, err := build.Kubernetes(t.Context(), version, t.TempDir(), nil)
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q: want one like", version)) {
			t.Errorf("Kubernetes(%q) = %v", version, err)
		}
	}
}

func TestKubernetesReportsAMissingVersion(t *testing.T) {
	t.Setenv("GOPROXY", "file://"+t.TempDir())
	_, err := build.Kubernetes(t.Context(), "v1.99.0", t.TempDir(), nil)
	if err == nil || !strings.Contains(err.Error(), "v1.99.0") || !strings.Contains(err.Error(), "go list -m -versions") {
		t.Errorf("Kubernetes = %v; want the version, and how to find others", err)
	}
}
