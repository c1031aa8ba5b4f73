// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package fsm_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestEachFaultOfOtherSystemsHasATest checks that testdata/faults.md has each fault, and that the tests in it exist.
func TestEachFaultOfOtherSystemsHasATest(t *testing.T) {
	table, err := os.ReadFile("testdata/faults.md")
	if err != nil {
		t.Fatal(err)
	}
	var sources strings.Builder
	for _, pattern := range []string{
		"*_test.go", "fsmtest/*_test.go", "../manager/*_test.go", "../metrics/*_test.go", "../webhook/*_test.go",
		"../../core/machine/*_test.go", "../../tests/e2e/*_test.go",
	} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, file := range files {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			sources.Write(source)
		}
	}
	rows := regexp.MustCompile(`(?m)^\| ([KA]\d+) \| .* \| (\w+) \|$`).FindAllStringSubmatch(string(table), -1)
	var want, got []string // the faults
	for system, most := range map[string]int{"K": 13, "A": 15} {
		for i := range most {
			want = append(want, fmt.Sprint(system, i+1))
		}
	}
	for _, row := range rows {
		got = append(got, row[1])
		if !strings.Contains(sources.String(), "func "+row[2]+"(t *testing.T)") {
			t.Errorf("%s: no test is named %s", row[1], row[2])
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if got = slices.Compact(got); !slices.Equal(got, want) {
		t.Errorf("the table has the faults %v, want %v", got, want)
	}
}
