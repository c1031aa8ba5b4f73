// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package generate_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/kube-go/sdk/derive/generate"
)

// clocks is a kind with two diagrams.
const clocks = `
-- api/v1/types.go --
package v1

//kube:resource group=clocks.example.com version=v1 kind=Clock
//kube:diagram file=machine.mmd
//kube:diagram file=../../wind/wind.mmd title="Springs & <wheels>"
type ClockSpec struct{}
-- api/v1/machine.mmd --
stateDiagram-v2
    [*] --> Tick
    Tick --> [*]
-- wind/wind.mmd --
%% A comment.

stateDiagram-v2
    state "a & b" as ab
`

// newClocks returns a module with the kind.
func newClocks(t *testing.T) (dir string) {
	t.Helper()
	return newModule(t, txtar.Parse([]byte(clocks)))
}

func TestPagesHaveTheDiagramsOfKinds(t *testing.T) {
	dir := newClocks(t)
	for _, output := range []struct {
		what

		file string
		want []string
	}{
		{what{"markdown", generate.Markdown}, "clocks.example.com_v1.md", []string{
			"\n### States of Clock\n\n```mermaid\nstateDiagram-v2\n    [*] --> Tick\n    Tick --> [*]\n```\n",
			"\n### Springs & \\<wheels> of Clock\n\n```mermaid\n%% A comment.\n\nstateDiagram-v2\n    state \"a & b\" as ab\n```\n",
		}},
		{what{"html", generate.HTML}, "clocks.example.com_v1.html", []string{
			"<h3>States of Clock</h3>\n<pre class=\"mermaid\">stateDiagram-v2\n    [*] --&gt; Tick\n    Tick --&gt; [*]\n</pre>",
			"<h3>Springs &amp; &lt;wheels&gt; of Clock</h3>\n<pre class=\"mermaid\">%% A comment.\n\nstateDiagram-v2\n    state &#34;a &amp; b&#34; as ab\n</pre>",
		}},
	} {
		files, err := output.fn(t.Context(), []string{"./..."}, &generate.Options{Dir: dir, Out: "out"})
		if err != nil {
			t.Fatal(err)
		}
		if len(files.Files) != 1 || filepath.Base(files.Files[0].Path) != output.file {
			t.Fatalf("%s wrote %+v", output.name, files.Files)
		}
		for _, want := range output.want {
			if !strings.Contains(string(files.Files[0].Content), want) {
				t.Errorf("the page does not have\n%s\nbut is\n%s", want, files.Files[0].Content)
			}
		}
		if output.name == "html" {
			closed(t, files.Files[0])
		}
	}
}

func TestWrongDiagramsAreReportedWithTheirFile(t *testing.T) {
	const remedy = "write the result of Machine.Graph().Mermaid() to it"
	for name, tt := range map[string]struct {
		write func(path string) error
		want  string
	}{
		"missing":   {os.Remove, "the file does not exist: " + remedy},
		"a folder":  {func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o755)) }, "is a directory"},
		"empty":     {text(""), "is not a Mermaid state diagram, which begins with stateDiagram-v2: " + remedy},
		"DOT":       {text("digraph {}\n"), "is not a Mermaid state diagram"},
		"not UTF-8": {text("stateDiagram-v2\n\xff\n"), "is not UTF-8: " + remedy},
		"a fence":   {text("stateDiagram-v2\n```\n# more\n"), "has a Markdown fence"},
		"too large": {text("stateDiagram-v2\n" + strings.Repeat("%% text\n", 7000)), "has more than 50000 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := newClocks(t)
			if err := tt.write(filepath.Join(dir, "wind", "wind.mmd")); err != nil {
				t.Fatal(err)
			}
			_, err := generate.Markdown(t.Context(), []string{"./..."}, &generate.Options{Dir: dir})
			const where = "api/v1/types.go:5:3: //kube:diagram: the diagram ../../wind/wind.mmd of Clock: "
			if err == nil || !strings.HasPrefix(err.Error(), where) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Markdown: %v, want %s… %s", err, where, tt.want)
			}
			if _, err := generate.CRDs(t.Context(), []string{"./..."}, &generate.Options{Dir: dir}); err != nil {
				t.Errorf("CRDs need no diagrams: %v", err)
			}
		})
	}
}

// text returns a function that writes a file.
func text(content string) func(path string) error {
	return func(path string) error { return os.WriteFile(path, []byte(content), 0o644) }
}

func TestMarkerOfDiagramsIsChecked(t *testing.T) {
	for name, tt := range map[string]struct{ markers, want string }{
		"absolute": {
			"//kube:resource group=a.example.com version=v1 kind=A\n//kube:diagram file=/a.mmd",
			"//kube:diagram: file=/a.mmd must be relative to the folder of this source",
		},
		"without a file": {
			"//kube:resource group=a.example.com version=v1 kind=A\n//kube:diagram title=a", "file",
		},
		"on another type": {"//kube:diagram file=a.mmd", "//kube:diagram needs //kube:resource on the same type"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := newModule(t, txtar.Parse([]byte("-- v1/a.go --\npackage v1\n\n"+tt.markers+"\ntype ASpec struct{}\n")))
			_, err := generate.Markdown(t.Context(), []string{"./..."}, &generate.Options{Dir: dir})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Markdown: %v, want %s", err, tt.want)
			}
		})
	}
}
