// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TestDocsListAllMetrics checks that the tables of docs/metrics.md have a row for each metric, and no others. The module
// wasm checks the rows of its own metrics.
func TestDocsListAllMetrics(t *testing.T) {
	const file = "../../docs/metrics.md"
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for line := range strings.Lines(string(content)) {
		if strings.HasPrefix(line, "| `") && !strings.HasPrefix(line, "| `kube_wasm_") && (runtime.GOOS == "linux" || !strings.HasPrefix(line, "| `process_")) {
			listed = append(listed, strings.TrimSpace(line))
		}
	}
	for _, f := range append(families(), process()...) {
		var labels []string
		for _, l := range f.Labels {
			labels = append(labels, "`"+l+"`")
		}
		row := fmt.Sprintf("| `%s` | %s | %s | %s |", f.Name, strings.Join(labels, ", "), f.Type, f.Help)
		i := slices.Index(listed, row)
		if i < 0 {
			t.Errorf("%s lacks this row:\n%s", file, row)
			continue
		}
		listed = slices.Delete(listed, i, i+1)
	}
	if len(listed) > 0 {
		t.Errorf("%s has rows of metrics that do not exist:\n%s", file, strings.Join(listed, "\n"))
	}
}
