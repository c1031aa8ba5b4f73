// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTellingLinesReportErrors(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   string
		n    int
		want []string
	}{
		{name: "an empty log has no lines", n: 3},
		{name: "without an error, the last lines", in: "a\n\nb\nc\n", n: 2, want: []string{"b", "c"}},
		{
			name: "klog's errors and fatals, not its other levels",
			in:   "I1121 10:00:00.1 7 a.go:1] fine\nE1121 10:00:00.2 7 b.go:2] bad\nW1121 10:00:00.3 7 c.go:3] hm\nF1121 10:00:00.4 7 d.go:4] dead\n",
			n:    3,
			want: []string{"E1121 10:00:00.2 7 b.go:2] bad", "F1121 10:00:00.4 7 d.go:4] dead"},
		},
		{
			name: "a repeated message is returned once",
			in:   "E1121 10:00:00.2 7 b.go:2] bad\nE1121 10:00:01.2 7 b.go:2] bad\n",
			n:    3,
			want: []string{"E1121 10:00:00.2 7 b.go:2] bad"},
		},
		{
			name: "etcd's JSON",
			in:   `{"level":"info","msg":"a"}` + "\n" + `{"level":"fatal","msg":"listen failed"}` + "\n",
			n:    3,
			want: []string{`{"level":"fatal","msg":"listen failed"}`},
		},
		{
			name: "containerd's key and value pairs",
			in:   "time=1 level=info msg=a\ntime=2 level=error msg=b\n",
			n:    3,
			want: []string{"time=2 level=error msg=b"},
		},
		{name: "a panic", in: "hello\npanic: nil map\ngoroutine 1\n", n: 3, want: []string{"panic: nil map"}},
		{name: "the last of many", in: "Error: 1\nError: 2\nError: 3\n", n: 2, want: []string{"Error: 2", "Error: 3"}},
		{
			name: "a long line is cut",
			in:   "Error: " + strings.Repeat("é", maxLine) + "\n",
			n:    1,
			want: []string{"Error: " + strings.Repeat("é", (maxLine-7)/2) + "…"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tellingLines(tt.in, tt.n)); diff != "" {
				t.Errorf("tellingLines (-want +got):\n%s", diff)
			}
		})
	}
}
