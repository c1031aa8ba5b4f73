// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"bytes"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-go/sdk/core/abi"
	"github.com/kube-go/sdk/wasm/host"
)

// TestCompareFindsWhatANewVersionWrites records hello-controller, and compares versions of it with the recording: one
// that does the same, and one that writes another text. Changed recordings stand for versions that write nothing or
// another object.
func TestCompareFindsWhatANewVersionWrites(t *testing.T) {
	wasm := guestOf(t, "../../examples", "./hello-controller")
	api := newConfigMaps()
	for _, key := range []string{"n/a", "n/b"} {
		api.put(key, object{"metadata": object{"labels": object{"hello": "please"}}})
	}
	var recording tape
	h, _ := run(t, api.ServeHTTP, host.Options{})
	if err := h.Set(t.Context(), host.Module{
		Name: "hello", Binary: wasm, Namespace: "n", Record: func() (io.Writer, error) { return &recording, nil },
	}); err != nil {
		t.Fatal(err)
	}
	greeted := func(key string) {
		api.await(t, key+" is greeted", func(all map[string]object) bool {
			data, _ := all[key]["data"].(object)
			return data["greeting"] == "hello, "+key[2:]
		})
	}
	greeted("n/a")
	greeted("n/b")
	api.put("n/late", object{"metadata": object{"labels": object{"hello": "please"}}})
	greeted("n/late")
	h.Remove(t.Context(), "hello")
	served := len(api.events)
	writes := bytes.Count(recording.Bytes(), []byte(`"method":"PATCH"`))
	if writes < 3 {
		t.Fatalf("the recording has %d writes, want one for each object", writes)
	}

	rules, err := host.Rules(bytes.NewReader(recording.Bytes()))
	want := []abi.Rule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"list", "patch", "watch"}}}
	if diff := cmp.Diff(want, rules); err != nil || diff != "" {
		t.Errorf("Rules: %v, (-want +got)\n%s", err, diff)
	}

	compare := func(t *testing.T, binary, recording []byte) *host.Comparison {
		t.Helper()
		o := &host.RecordingOptions{CompilationDir: compiled}
		found, err := host.Compare(t.Context(), binary, bytes.NewReader(recording), o)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	replace := func(data []byte, from, to string) []byte { return bytes.ReplaceAll(data, []byte(from), []byte(to)) }

	t.Run("the same writes", func(t *testing.T) {
		other := regexp.MustCompile(`"sha256:[0-9a-f]{8}`).ReplaceAll(recording.Bytes(), []byte(`"sha256:01234567`))
		found := compare(t, wasm, other) // of a module with another digest
		if len(found.Differences) > 0 || found.Same != writes {
			t.Errorf("Compare = %d same writes, %q, want %d and no difference", found.Same, found.Differences, writes)
		}
	})
	t.Run("other writes", func(t *testing.T) {
		found := compare(t, replace(wasm, "hello, ", "howdy, "), recording.Bytes())
		if len(found.Differences) != writes || found.Same != 0 {
			t.Fatalf("Compare = %d same writes, differences %q, want 0 and %d", found.Same, found.Differences, writes)
		}
		for _, d := range found.Differences {
			if !strings.HasPrefix(d.Subject, "PATCH /api/v1/namespaces/n/configmaps/") ||
				!bytes.Contains(d.Recorded, []byte(`"hello, `)) || !bytes.Contains(d.Now, []byte(`"howdy, `)) {
				t.Errorf("difference %s: %s is now %s, want another greeting", d.Subject, d.Recorded, d.Now)
			}
		}
	})
	t.Run("no writes", func(t *testing.T) {
		found := compare(t, wasm, replace(recording.Bytes(), `"hello":"please"`, `"hello":"thanks"`))
		if len(found.Differences) != writes || found.Same != 0 {
			t.Fatalf("Compare = %d same writes, differences %q, want 0 and %d", found.Same, found.Differences, writes)
		}
		for _, d := range found.Differences {
			if d.Recorded == nil || d.Now != nil {
				t.Errorf("difference %s: %s is now %s, want that it is missing", d.Subject, d.Recorded, d.Now)
			}
		}
	})
	t.Run("a write that is not in the recording", func(t *testing.T) {
		found := compare(t, wasm, replace(recording.Bytes(), "/configmaps/a?", "/configmaps/z?"))
		sent, missing := 0, 0
		for _, d := range found.Differences {
			switch {
			case strings.Contains(d.Subject, "/configmaps/a?") && d.Recorded == nil && d.Now != nil:
				sent++
			case strings.Contains(d.Subject, "/configmaps/z?") && d.Recorded != nil && d.Now == nil:
				missing++
			default:
				t.Errorf("difference %s: %s is now %s", d.Subject, d.Recorded, d.Now)
			}
		}
		if sent != 1 || missing == 0 || found.Same+missing != writes {
			t.Errorf("Compare = %d same writes, %d sent and %d missing ones", found.Same, sent, missing)
		}
	})
	t.Run("a recording that was cut off", func(t *testing.T) {
		all := recording.Bytes()
		for n := range 3 { // within calls and frames
			end := len(all) - 1 - n*len(all)/5
			if found := compare(t, wasm, all[:end]); len(found.Differences) > 0 {
				t.Errorf("Compare with the first %d bytes of %d has the differences %q", end, len(all), found.Differences)
			}
		}
	})
	if n := len(api.events); n != served {
		t.Errorf("the server had %d changes, and has %d: Compare must send nothing", served, n)
	}
}
