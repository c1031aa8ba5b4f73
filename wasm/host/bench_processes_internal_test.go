// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkHundredProcesses measures a hundred processes of hello-controller, which have no objects and are idle: what
// BenchmarkHundredIdleModules is compared with. The time has no meaning.
func BenchmarkHundredProcesses(b *testing.B) {
	const count = 100
	program, kubeconfig := filepath.Join(b.TempDir(), "hello"), filepath.Join(b.TempDir(), "config")
	build := exec.CommandContext(b.Context(), "go", "build", "-o", program, "./hello-controller")
	build.Dir, build.Env = "../../examples", append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	var watches atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("watch") == "" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"type":"BOOKMARK","object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{`+
			`"resourceVersion":"1","annotations":{"k8s.io/initial-events-end":"true"}}}}`+"\n")
		_ = http.NewResponseController(w).Flush()
		watches.Add(1)
		<-r.Context().Done()
		watches.Add(-1)
	}))
	defer server.Close()
	config := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"a","clusters":[{"name":"a",`+
		`"cluster":{"server":%q}}],"contexts":[{"name":"a","context":{"cluster":"a"}}]}`, server.URL)
	if err := os.WriteFile(kubeconfig, []byte(config), 0o600); err != nil {
		b.Fatal(err)
	}
	var processes [count]*exec.Cmd
	for n := range processes {
		cmd := exec.CommandContext(b.Context(), program)
		cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		processes[n] = cmd
		defer func() {
			_ = cmd.Process.Kill() // it may have ended
			_ = cmd.Wait()
		}()
	}
	for deadline := time.Now().Add(time.Minute); watches.Load() < count; <-time.After(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			b.Fatalf("%d processes have a watch, want %d", watches.Load(), count)
		}
	}
	var memory, threads float64
	for _, cmd := range processes {
		memory += privateOf(b, cmd.Process.Pid)
		tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", cmd.Process.Pid))
		if err != nil {
			b.Fatal(err)
		}
		threads += float64(len(tasks))
	}
	for b.Loop() {
	}
	b.ReportMetric(memory/count/1e6, "MB/process")
	b.ReportMetric(threads/count, "threads/process")
	b.ReportMetric(float64(watches.Load()), "watches")
}
