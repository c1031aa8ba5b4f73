// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kube-go/sdk/wasm/registry/registrytest"
)

func TestInspectRefusesAModuleWhoseCountsAreWrong(t *testing.T) {
	file := filepath.Join(t.TempDir(), "large.wasm")
	module := "\x00asm\x01\x00\x00\x00\x0a\x05\xff\xff\xff\xff\x0f" // wazero would reserve 300 GB for its functions
	if err := os.WriteFile(file, []byte(module), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := inspect(t.Context(), file); err == nil || !strings.Contains(err.Error(), "large.wasm: code section") {
		t.Errorf("inspect() = %v, want an error about the code section", err)
	}
}

// TestInspectReportsThatHostsRefuseAModule has an import that hosts do not have, and a table that is imported.
func TestInspectReportsThatHostsRefuseAModule(t *testing.T) {
	valid := registrytest.Guest{Log: "x"}.Module()
	table := "\x02\x0b\x01\x03env\x01t\x01\x70\x00\x01"
	for want, wasm := range map[string][]byte{
		"": valid,
		"refused      hosts refuse the module: the module imports the function lag of kube_v1": bytes.Replace(valid,
			[]byte("\x07kube_v1\x03log"), []byte("\x07kube_v1\x03lag"), 1),
		"refused      hosts refuse the module: the module imports the table t of env": []byte("\x00asm\x01\x00\x00\x00" + table),
	} {
		code, out, errs := call(t, "inspect", writeFile(t, t.TempDir(), "a.wasm", wasm))
		if code != 0 || !strings.Contains(out, want) || strings.Contains(out, "refuse") != (want != "") {
			t.Errorf("inspect = %d, want %q in the output:\n%s%s", code, want, out, errs)
		}
	}
}

func TestInspectEndsAModuleThatNeverFinishesItsInitialisation(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sleeper.wasm")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-buildmode=c-shared", "-ldflags=-s -w", "-o", file, "./testdata/sleeper")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	errLate := errors.New("the time of the test is over")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 2*time.Second, errLate)
	defer cancel()
	i, err := inspect(ctx, file)
	if err != nil && !errors.Is(err, errLate) && !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	if err == nil && i.problem == nil {
		t.Errorf("inspect has the description %+v of a module that never finishes its initialisation", i.description)
	}
}
