// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEveryMissingProgramIsNamed(t *testing.T) {
	got := missingPrograms(func(name string) (string, error) {
		if name == "mount" {
			return "/bin/mount", nil
		}
		return "", exec.ErrNotFound
	})
	if diff := cmp.Diff([]string{"flock", "ip", "nsenter", "runc", "unshare"}, got); diff != "" {
		t.Errorf("missingPrograms() (-want +got):\n%s", diff)
	}
}

func TestScriptInstallsThePackagesOfTheError(t *testing.T) {
	script, err := os.ReadFile("deps.sh")
	if err != nil {
		t.Fatal(err)
	}
	if want := "\npackages=\"" + Packages + "\"\n"; !strings.Contains(string(script), want) {
		t.Errorf("deps.sh does not have the line %s", want)
	}
}

func TestPathThatIsHiddenInANodeIsAnError(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	if err := os.Symlink("/var/lib/dpkg", link); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, path, wantErr string
	}{
		{name: "a folder", path: dir},
		{name: "a missing path", path: filepath.Join(dir, "new")},
		{name: "a path below /run", path: "/run/user/0/x", wantErr: "a node has its own /run"},
		{name: "a path below /var/lib", path: "/var/lib/x", wantErr: "a node has its own /var/lib"},
		{name: "a path with the same prefix", path: "/running"},
		{name: "a relative path", path: "x", wantErr: "not an absolute path"},
	} {
		t.Run(test.name, func(t *testing.T) { wantError(t, visible(dir, test.path), test.wantErr) })
	}
	if _, err := os.Stat("/var/lib/dpkg"); err == nil { // on Debian and its relatives
		wantError(t, visible(link), "a node has its own /var/lib")
	}
}

// wantError checks that the error contains the text, or that it is nil if the text is empty.
func wantError(t *testing.T, err error, want string) {
	t.Helper()
	if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
		t.Errorf("error = %v, want %q", err, want)
	}
}
