// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package release_test

import (
	"archive/zip"
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-go/sdk/tests/e2e/internal/release"
)

// repository writes these files, and a licence, to a directory.
func repository(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	files["LICENSE"] = "do as you please"
	for name, content := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func two() map[string]string {
	return map[string]string{
		"low/go.mod":        "module github.com/kube-go/sdk/low\n",
		"low/low.go":        "package low\n",
		"low/inside/go.mod": "module another\n",
		"low/inside/in.go":  "package inside\n",
		"high/go.mod": "module github.com/kube-go/sdk/high\n\nrequire (\n\texample.com/other v1.2.3\n\tgithub.com/kube-go/sdk/low v0.0.0\n)\n\n" +
			"replace github.com/kube-go/sdk/low => ../low\n",
		"high/high.go": "package high\n",
		"high/LICENSE": "ask first",
	}
}

func TestPublishMakesModulesThatStandAlone(t *testing.T) {
	proxy := t.TempDir()
	version, err := release.Publish(repository(t, two()), proxy, []string{"low", "high"})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(proxy, "github.com/kube-go/sdk/high/@v", version)
	got, err := os.ReadFile(dir + ".mod")
	if err != nil {
		t.Fatal(err)
	}
	want := "module github.com/kube-go/sdk/high\n\nrequire (\n\texample.com/other v1.2.3\n\tgithub.com/kube-go/sdk/low " + version + "\n)\n"
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("go.mod (-want +got):\n%s", diff)
	}
	for module, want := range map[string][]string{
		"high": {"LICENSE=ask first", "go.mod=" + want, "high.go=package high\n"},
		"low":  {"LICENSE=do as you please", "go.mod=module github.com/kube-go/sdk/low\n", "low.go=package low\n"},
	} {
		if diff := cmp.Diff(want, unzip(t, proxy, module, version)); diff != "" {
			t.Errorf("files of %s (-want +got):\n%s", module, diff)
		}
	}
}

// unzip returns the files in a module's zip, in order, with their content.
func unzip(t *testing.T, proxy, module, version string) []string {
	t.Helper()
	packed, err := os.ReadFile(filepath.Join(proxy, "github.com/kube-go/sdk", module, "@v", version+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	archive, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, file := range archive.File {
		content, err := fs.ReadFile(archive, file.Name)
		if err != nil {
			t.Fatal(err)
		}
		name, ok := strings.CutPrefix(file.Name, "github.com/kube-go/sdk/"+module+"@"+version+"/")
		if !ok {
			t.Errorf("%s is outside its module", file.Name)
		}
		files = append(files, name+"="+string(content))
	}
	slices.Sort(files)
	return files
}

func TestTheVersionTellsTheFilesApart(t *testing.T) {
	publish := func(files map[string]string) string {
		version, err := release.Publish(repository(t, files), t.TempDir(), []string{"low", "high"})
		if err != nil {
			t.Fatal(err)
		}
		return version
	}
	first := publish(two())
	if again := publish(two()); again != first {
		t.Errorf("the same files are %s and %s", first, again)
	}
	changed := two()
	changed["low/low.go"] += "// changed\n"
	if again := publish(changed); again == first {
		t.Errorf("other files are %s too", again)
	}
}

func TestPublishRefusesWhatOnlyWorksInTheRepository(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"a replaced stranger", "module github.com/kube-go/sdk/low\nreplace example.com/other => ../other\n", "it replaces example.com/other"},
		{"a sibling that is not released", "module github.com/kube-go/sdk/low\nrequire github.com/kube-go/sdk/bench v0.0.0\n", "it requires github.com/kube-go/sdk/bench"},
		{"another name", "module github.com/kube-go/sdk/lower\n", "its go.mod calls it github.com/kube-go/sdk/lower"},
		{"no go.mod at all", "", "it has no go.mod"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			files := map[string]string{"low/go.mod": tt.in, "low/low.go": "package low\n"}
			if tt.in == "" {
				delete(files, "low/go.mod")
			}
			_, err := release.Publish(repository(t, files), t.TempDir(), []string{"low"})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Publish() = %v, want %q in it", err, tt.want)
			}
		})
	}
}
