// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-go/sdk/client/config"
)

// FuzzParse checks for any input that Parse returns either a kubeconfig or errors that name the file, that a parsed
// kubeconfig can be encoded and decoded again, and that each context resolves either to a Config or to errors, without
// a panic.
func FuzzParse(f *testing.F) {
	for _, file := range []string{"testdata/full.yaml", "testdata/broken.yaml"} {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(expand(string(text))))
	}
	for _, seed := range []string{
		"", "null", "[]", "{", "a: b: c", "\ufeffkind: Config", "---\n---\na: 1\n...\n", "%YAML 1.1\n---\n{}", "a: &a [*a]",
		"a: *b", "a: 1\na: 2", "x: &x {y: z}\nclusters: [{name: a, cluster: {<<: *x, y: 1}}]", "clusters: [null, {name: 1}]",
		"users: [{name: a, user: {exec: {env: [{}]}, auth-provider: null, client-key-data: YQ==}}]", "? [a]\n: b",
		"extensions: [{name: a, extension: {b: [1e400, .inf, 2020-01-01, 0x10, ~, !!binary YQ==]}}]",
		"current-context: \"\\u0085\\u2028\\ud83e\\udd8a\\x00\"", encodeUTF16(kubeconfigOf("a"), binary.LittleEndian),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		kc, err := config.Parse(data, "/k/config")
		if (kc == nil) == (err == nil) {
			t.Fatalf("Parse() = %v, %v", kc, err)
		}
		if err != nil {
			checkPlaces(t, err)
			return
		}
		text, err := kc.Encode()
		if err != nil {
			t.Fatalf("Encode(): %v", err)
		}
		again, err := config.Parse(text, "/k/config")
		if err != nil {
			t.Fatalf("Parse(Encode()): %v\n%q", err, text)
		}
		if diff := cmp.Diff(kc, again, sameJSON); diff != "" {
			t.Fatalf("Parse(Encode()) (-want +got):\n%s\n%q", diff, text)
		}
		for _, context := range kc.Contexts {
			cfg, err := config.ConfigIn(kc, nil, config.Options{Context: context.Name})
			if (cfg == nil) == (err == nil) {
				t.Fatalf("Config() = %v, %v", cfg, err)
			}
			if cfg != nil && (cfg.Namespace == "" || !strings.HasPrefix(cfg.Server, "http") || cfg.String() == "") {
				t.Fatalf("Config() = %v", cfg)
			}
		}
	})
}

// sameJSON compares raw JSON by its decoded value.
var sameJSON = cmp.Transformer("JSON", func(raw json.RawMessage) any {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if len(raw) > 0 && d.Decode(&v) != nil {
		return "invalid JSON: " + string(raw)
	}
	return v
})

// checkPlaces checks that an error, or each of the joined errors, is one line that begins with the file.
func checkPlaces(t *testing.T, err error) {
	t.Helper()
	all := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		all = joined.Unwrap()
	}
	for _, err := range all {
		if e, ok := errors.AsType[*config.FieldError](err); !ok || !strings.HasPrefix(e.File, "/k/config") {
			t.Errorf("%v does not name the file", err)
		}
		if strings.Contains(err.Error(), "\n") {
			t.Errorf("%q has more than one line", err)
		}
	}
}
