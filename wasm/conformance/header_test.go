// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package conformance_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/kube-go/sdk/core/abi"
	"github.com/kube-go/sdk/wasm/host"
)

// buildC builds a program in C. It skips the test if the compiler is missing.
func buildC(t *testing.T, source string, flags ...string) []byte {
	t.Helper()
	needC(t)
	file := filepath.Join(t.TempDir(), "program.wasm")
	run(t, exec.CommandContext(t.Context(), "../../scripts/wasm-guests", append([]string{"build", file, source}, flags...)...))
	binary, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

func TestHeaderOfCReadsAndWritesMessages(t *testing.T) {
	binary := buildC(t, "wasm/conformance/testdata/header.c", "-mexec-model=command")
	r := wazero.NewRuntime(t.Context())
	defer func() { _ = r.Close(t.Context()) }()
	wasi_snapshot_preview1.MustInstantiate(t.Context(), r)
	var out bytes.Buffer
	if _, err := r.InstantiateWithConfig(t.Context(), binary, wazero.NewModuleConfig().WithStdout(&out)); err != nil {
		t.Errorf("the program failed: %v", err)
	}
	if out.Len() > 0 {
		t.Error(out.String())
	}
}

func TestExamplesInCRun(t *testing.T) {
	hello, heartbeat := buildC(t, "wasm/guests/c/hello.c"), buildC(t, "wasm/guests/c/heartbeat.c")
	w := newWorld(t, program{language: "C"}, host.Options{})
	w.set(t, host.Module{Name: "hello", Binary: hello})
	w.set(t, host.Module{Name: "heartbeat", Binary: heartbeat, Namespace: "beats"})
	text := func(key, field string) any {
		data, _ := w.server.get(configMapPath, key)["data"].(object)
		return data[field]
	}
	meta := object{"namespace": "home", "name": "me", "labels": object{"hello": "please"}}
	w.server.put(configMapPath, configMap(meta, nil))
	w.server.put(configMapPath, configMap(object{"namespace": "home", "name": "other"}, nil))
	w.await(t, "the greeting", func() bool { return text("home/me", "greeting") == "Hello, me!" })
	w.await(t, "the heartbeat", func() bool { return text("beats/heartbeat", "beat") == "1" })
	if got := text("home/other", "greeting"); got != nil {
		t.Errorf("the greeting of another ConfigMap is %v", got)
	}
	w.await(t, "the report of the heartbeat", func() bool {
		for _, r := range w.logged("heartbeat") {
			if strings.HasPrefix(r.text, "heartbeat 1: status 20") {
				return true
			}
		}
		return false
	})
}

func TestGuestInCKeepsItemsForLater(t *testing.T) {
	w := newWorld(t, program{language: "C"}, host.Options{})
	const size = 100 * abi.MaxChunk
	w.set(t, host.Module{
		Name: "keeper", Binary: buildC(t, "wasm/conformance/testdata/keeper.c"),
		Args: []string{fmt.Sprintf("/test/big?bytes=%d", size)},
	})
	want := fmt.Sprintf("%d bytes of the body, 0 of them wrong, at most %d items kept", size, abi.MaxDepth)
	if got := w.says(t, "keeper", "read "); got != want {
		t.Errorf("the guest has read %s, want %s", got, want)
	}
}
