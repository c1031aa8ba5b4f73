// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package conformance_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-go/sdk/core/abi"
	"github.com/kube-go/sdk/wasm/host"
)

// recordings are those of the instances of a module.
type recordings struct {
	mu  sync.Mutex // guards all and its elements
	all []*bytes.Buffer
}

// recording is one of them. It may be read while it is written.
type recording struct {
	of   *recordings
	data *bytes.Buffer
}

func (r *recordings) add() (io.Writer, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	data := new(bytes.Buffer)
	r.all = append(r.all, data)
	return recording{r, data}, nil
}

func (r recording) Write(p []byte) (int, error) {
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	return r.data.Write(p)
}

// copies returns what was recorded so far.
func (r *recordings) copies() [][]byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all [][]byte
	for _, data := range r.all {
		all = append(all, bytes.Clone(data.Bytes()))
	}
	return all
}

// TestThousandRecordedReconcilesReplayByteForByte records the runs of a thousand objects, each of which sends a
// request, writes to the log and returns a status. It replays them before the module is removed, as after a crash of
// the host.
func TestThousandRecordedReconcilesReplayByteForByte(t *testing.T) {
	const keys = 1000
	for _, language := range []string{"Go", "C"} {
		t.Run(language, func(t *testing.T) {
			p := buildProgram(t, language)
			w := newWorld(t, p, host.Options{})
			var tasks []object
			for n := range keys {
				body := fmt.Sprintf("body of %d", n)
				message := encode(requestWith(abi.Request{Method: "PUT", URL: "/test/echo"}, []byte(body)))
				tasks = append(tasks, object{
					"apiVersion": "conformance.test/v1", "kind": "Task",
					"metadata": object{"namespace": "many", "name": fmt.Sprint("task-", n)},
					"spec": object{"do": []string{
						fmt.Sprintf("call %d 4096 %x", abi.OpRequest, message), "clock", "random",
						fmt.Sprintf(`status {"n":%d}`, n),
					}},
				})
			}
			w.server.putAll(taskPath, tasks)
			var tapes recordings
			w.set(t, host.Module{Name: "reconciler", Binary: p.reconciler, Record: tapes.add})
			w.awaitFor(t, 5*patience, "the status of all objects", func() bool {
				w.server.mu.Lock()
				defer w.server.mu.Unlock()
				done := 0
				for _, task := range w.server.objects[taskPath] {
					if task["status"] != nil {
						done++
					}
				}
				return done == keys
			})
			w.await(t, "the end of the runs", func() bool {
				calls := w.status("reconciler").Stats.Calls
				<-time.After(200 * time.Millisecond) // more than a run takes
				return w.status("reconciler").Stats.Calls == calls
			})
			o := &host.RecordingOptions{CompilationDir: p.compilation}
			replay := func(tape []byte) (int, error) {
				return host.Replay(t.Context(), p.reconciler, bytes.NewReader(tape), o)
			}
			calls := 0
			for n, tape := range tapes.copies() {
				replayed, err := replay(tape)
				if err != nil {
					t.Fatalf("recording %d: %v", n, err)
				}
				calls += replayed
			}
			if calls < keys {
				t.Errorf("%d calls were replayed, want at least %d", calls, keys)
			}
			first := tapes.copies()[0]
			other := bytes.Replace(first, []byte("body of"), []byte("BODY of"), 1)
			if _, err := replay(other); err == nil || !strings.Contains(err.Error(), "differs") {
				t.Errorf("Replay of a changed recording = %v, want that it differs", err)
			}
			want := []abi.Rule{
				{APIGroups: []string{"conformance.test"}, Resources: []string{"notes"}, Verbs: []string{"list", "watch"}},
				{APIGroups: []string{"conformance.test"}, Resources: []string{"tasks"}, Verbs: []string{"list", "watch"}},
				{APIGroups: []string{"conformance.test"}, Resources: []string{"tasks/status"}, Verbs: []string{"patch"}},
			}
			var all []io.Reader
			for _, tape := range tapes.copies() {
				all = append(all, bytes.NewReader(tape))
			}
			rules, err := host.Rules(all...)
			if diff := cmp.Diff(want, rules); err != nil || diff != "" {
				t.Errorf("Rules: %v, (-want +got)\n%s", err, diff)
			}
			compare := func(tape []byte) *host.Comparison {
				found, err := host.Compare(t.Context(), p.reconciler, bytes.NewReader(tape), o)
				if err != nil {
					t.Fatal(err)
				}
				return found
			}
			if found := compare(first); len(found.Differences) > 0 || found.Same == 0 {
				t.Errorf("Compare = %d same writes, %d differences, want no difference", found.Same, len(found.Differences))
			}
			if found := compare(other); len(found.Differences) != 1 || !bytes.Contains(found.Differences[0].Recorded, []byte("BODY of")) {
				t.Errorf("Compare with a changed recording = %+v, want the body that was changed", found.Differences)
			}
		})
	}
}
