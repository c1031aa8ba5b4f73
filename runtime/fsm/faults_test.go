// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package fsm_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestEachFaultOfOtherSystemsHasATest checks that the tests in testdata/faults.md exist.
func TestEachFaultOfOtherSystemsHasATest(t *testing.T) {
	table, err := os.ReadFile("testdata/faults.md")
	if err != nil {
		t.Fatal(err)
	}
	var sources strings.Builder
	for _, pattern := range []string{"*_test.go", "../../core/machine/*_test.go", "../../tests/e2e/*_test.go"} {
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
	if len(rows) < 25 {
		t.Fatalf("the table has %d rows", len(rows))
	}
	for _, row := range rows {
		if !strings.Contains(sources.String(), "func "+row[2]+"(t *testing.T)") {
			t.Errorf("%s: no test is named %s", row[1], row[2])
		}
	}
}
