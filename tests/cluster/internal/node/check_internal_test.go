// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
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

func TestProgramOnAllAddressesOfTheServicePortIsAnError(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has all addresses of 127.0.0.0/8")
	}
	for _, test := range []struct {
		name, address string
		wantErr       bool
	}{
		{name: "all addresses", address: "0.0.0.0:0", wantErr: true},
		{name: "one address", address: "127.0.0.1:0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			listener, err := net.Listen("tcp4", test.address)
			if err != nil {
				t.Fatal(err)
			}
			defer listener.Close()
			port := listener.Addr().(*net.TCPAddr).Port
			want := ""
			if test.wantErr {
				want = fmt.Sprintf("a node needs TCP port %d", port)
			}
			wantError(t, checkPort(port), want)
		})
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
