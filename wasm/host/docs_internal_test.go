// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDocsListTheMetricsOfModules checks that a table of docs/metrics.md has a row for each metric, and no others.
func TestDocsListTheMetricsOfModules(t *testing.T) {
	content, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	var listed, want []string
	for line := range strings.Lines(string(content)) {
		if strings.HasPrefix(line, "| `kube_wasm_") {
			listed = append(listed, strings.TrimSpace(line))
		}
	}
	h, _ := newTestHost(t, "http://127.0.0.1:1", Options{})
	for _, f := range h.Families() {
		labels := "`" + strings.Join(f.Labels, "`, `") + "`"
		want = append(want, fmt.Sprintf("| `%s` | %s | %s | %s |", f.Name, labels, f.Type, f.Help))
	}
	if diff := cmp.Diff(want, listed); diff != "" {
		t.Errorf("the table of docs/metrics.md (-want +got)\n%s", diff)
	}
}
