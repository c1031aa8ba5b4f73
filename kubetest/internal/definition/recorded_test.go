// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package definition_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "record the responses of the cluster of the current kubeconfig")

// story is a sequence of requests for definitions and their objects. A story starts without definitions.
type story struct {
	Name  string `json:"name"`
	Steps []step `json:"steps"`
}

// step is one request. Updates have the current resource version, unless Unconditional is set.
type step struct {
	Verb            string         `json:"verb"`   // create, update, updateStatus, get or delete
	Plural          string         `json:"plural"` // of the objects; default: customresourcedefinitions
	Version         string         `json:"version"`
	Name            string         `json:"name"`
	FieldValidation string         `json:"fieldValidation"`
	Unconditional   bool           `json:"unconditional"`
	Body            map[string]any `json:"body"`
}

// response is the response of a server, without the parts that are different each time.
type response struct {
	Code     int            `json:"code"`
	Warnings []string       `json:"warnings,omitempty"`
	Body     map[string]any `json:"body"`
}

// server serves the requests of a story.
type server interface {
	do(step) response
}

// group is the group of all definitions. All objects are in namespace default.
const group = "kt-c.example.com"

// TestResponsesAreThoseOfAServer replays stories, and compares the responses with those of Kubernetes 1.37. With the
// flag -update, it records the responses of the cluster of the current kubeconfig.
func TestResponsesAreThoseOfAServer(t *testing.T) {
	for _, file := range glob(t, "testdata/*.yaml") {
		var stories []story
		readYAML(t, file, &stories)
		golden := strings.TrimSuffix(file, ".yaml") + ".json"
		recorded := map[string][]response{}
		if *update {
			for _, s := range stories {
				recorded[s.Name] = play(s, newLive(t))
			}
			writeJSON(t, golden, recorded)
		} else {
			readYAML(t, golden, &recorded)
		}
		for _, s := range stories {
			t.Run(s.Name, func(t *testing.T) {
				for i, got := range play(s, newFake(t)) {
					if diff := cmp.Diff(normal(t, recorded[s.Name][i]), normal(t, got)); diff != "" {
						t.Errorf("step %d, %s %s: -server +got:\n%s", i, s.Steps[i].Verb, s.Steps[i].Name, diff)
					}
				}
			})
		}
	}
}

func play(s story, srv server) []response {
	var all []response
	for _, step := range s.Steps {
		r := srv.do(step)
		clean(r.Body)
		all = append(all, r)
	}
	return all
}

// clean removes what is different each time, such as the order of the causes of an error.
func clean(obj map[string]any) {
	details, _ := obj["details"].(map[string]any)
	if causes, _ := details["causes"].([]any); len(causes) > 1 {
		slices.SortFunc(causes, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		obj["message"], _, _ = strings.Cut(obj["message"].(string), "[")
	}
	if meta, ok := obj["metadata"].(map[string]any); ok {
		for _, key := range []string{"uid", "resourceVersion", "creationTimestamp", "managedFields"} {
			delete(meta, key)
		}
	}
	status, _ := obj["status"].(map[string]any)
	conditions, _ := status["conditions"].([]any)
	for _, c := range conditions {
		delete(c.(map[string]any), "lastTransitionTime")
	}
}

// normal returns a value as decoded JSON.
func normal(tb testing.TB, v any) any {
	tb.Helper()
	var out any
	if err := json.Unmarshal(encode(tb, v), &out); err != nil {
		tb.Fatal(err)
	}
	return out
}

func encode(tb testing.TB, v any) []byte {
	tb.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(v); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

func writeJSON(tb testing.TB, path string, v any) {
	tb.Helper()
	if err := os.WriteFile(path, encode(tb, v), 0o644); err != nil {
		tb.Fatal(err)
	}
}

func readYAML(tb testing.TB, path string, v any) {
	tb.Helper()
	body, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	if err := yaml.Unmarshal(body, v); err != nil {
		tb.Fatalf("%s: %v", path, err)
	}
}

func glob(tb testing.TB, pattern string) []string {
	tb.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		tb.Fatalf("Glob(%q) = %v, %v", pattern, files, err)
	}
	return files
}
