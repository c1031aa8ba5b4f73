// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package pod

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func allLines(r io.Reader, stamped bool) ([]LogLine, error) {
	var got []LogLine
	for lines := newLogReader(r, stamped); ; {
		line, err := lines.next()
		if err != nil {
			return got, err
		}
		got = append(got, line)
	}
}

func TestLogIsSplitIntoLines(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 678, time.UTC)
	stamp := at.Format(time.RFC3339Nano)
	long := strings.Repeat("x", lineBytes)
	for _, tc := range []struct {
		name    string
		in      string
		stamped bool
		want    []LogLine
	}{
		{"an empty log", "", true, nil},
		{"lines", "a\n\nb\r\n", false, []LogLine{{Text: "a"}, {}, {Text: "b"}}},
		{"a last line without a line break", "a\nb", false, []LogLine{{Text: "a"}, {Text: "b"}}},
		{"times that were not requested", stamp + " a\n", false, []LogLine{{Text: stamp + " a"}}},
		{"times", stamp + " a b\n" + stamp + " \n", true, []LogLine{{Time: at, Text: "a b"}, {Time: at}}},
		{"a time without text", stamp + "\n", true, []LogLine{{Time: at}}},
		{"a message of the node", "failed to watch file: no\n", true, []LogLine{{Text: "failed to watch file: no"}}},
		{
			"a line that is too long", stamp + " " + long + "\nb\n", true,
			[]LogLine{
				{Time: at, Text: long[:lineBytes-len(stamp)-1], Partial: true},
				{Time: at, Text: long[:len(stamp)+1]},
				{Text: "b"},
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := allLines(strings.NewReader(tc.in), tc.stamped)
			if diff := cmp.Diff(tc.want, got); diff != "" || err != io.EOF {
				t.Errorf("lines (-want +got), %v:\n%s", err, diff)
			}
		})
	}
	if got, err := allLines(iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader("ab"))), false); len(got) > 0 || !errors.Is(err, iotest.ErrTimeout) {
		t.Errorf("a log that fails within a line = %v, %v, want only the error", got, err)
	}
}

// FuzzLogLines checks that no byte of a log is lost, and that the size of lines is bounded.
func FuzzLogLines(f *testing.F) {
	f.Add([]byte("2026-01-02T03:04:05.000000006Z text\nmore\n"), true)
	f.Add([]byte("a\r\nb"), false)
	f.Fuzz(func(t *testing.T, data []byte, stamped bool) {
		got, err := allLines(iotest.HalfReader(strings.NewReader(string(data))), stamped)
		if err != io.EOF {
			t.Fatal(err)
		}
		var text strings.Builder
		for _, line := range got {
			if len(line.Text) > lineBytes {
				t.Errorf("a line has %d bytes, want at most %d", len(line.Text), lineBytes)
			}
			text.WriteString(line.Text)
			if !line.Partial {
				text.WriteByte('\n')
			}
		}
		if !stamped {
			want := strings.ReplaceAll(string(data)+"\n", "\r\n", "\n")
			if strings.HasSuffix(string(data), "\n") || len(data) == 0 {
				want = want[:len(want)-1]
			}
			if text.String() != want {
				t.Errorf("lines = %q, want %q", text.String(), want)
			}
		}
	})
}
