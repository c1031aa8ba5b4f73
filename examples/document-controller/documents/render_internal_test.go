// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package documents

import (
	"strings"
	"testing"

	v1 "github.com/kube-go/sdk/examples/document-controller/api/v1"
)

func TestRenderSupportsAllFormats(t *testing.T) {
	tests := []struct {
		name      string
		spec      v1.DocumentSpec
		file      string
		want      string // a substring of the text
		wantWords int
		wantErr   string // a substring of the error
	}{
		{
			name: "text is unchanged",
			spec: v1.DocumentSpec{Title: "T", Body: "a <b> c", Format: v1.FormatText},
			file: "document.txt", want: "T\n\na <b> c\n", wantWords: 3,
		},
		{
			name: "html is put into a page",
			spec: v1.DocumentSpec{Title: "A & B", Body: "<p>x</p>", Format: v1.FormatHTML},
			file: "index.html", want: "<h1>A &amp; B</h1>\n<p>x</p>\n", wantWords: 1,
		},
		{
			name: "markdown is rendered and escaped",
			spec: v1.DocumentSpec{Title: "M", Body: "# Head\n\n- item\nsome <text>", Format: v1.FormatMarkdown},
			file: "index.html", want: "<h2>Head</h2>\n<li>item</li>\n<p>some &lt;text&gt;</p>", wantWords: 6,
		},
		{
			name: "code keeps its whitespace",
			spec: v1.DocumentSpec{Title: "C", Body: "```\n  a < b\n```", Format: v1.FormatMarkdown},
			file: "index.html", want: "<pre>  a &lt; b\n</pre>", wantWords: 5,
		},
		{
			name:    "an unclosed code block is reported with its line",
			spec:    v1.DocumentSpec{Title: "E", Body: "one\n```\ntwo", Format: v1.FormatMarkdown},
			wantErr: "begins on line 2 is not closed",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := render(tt.spec)
			if tt.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tt.wantErr) {
					t.Fatalf("render(%+v) = %v, want an error with %q", tt.spec, err, tt.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got.file != tt.file || !strings.Contains(got.text, tt.want) || got.words != tt.wantWords {
				t.Errorf("render(%+v) = %+v, want %q in %s and %d words", tt.spec, got, tt.want, tt.file, tt.wantWords)
			}
		})
	}
}
