// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHierarchiesAreFoundAtTheirMountPoints(t *testing.T) {
	for _, test := range []struct {
		name    string
		in      string
		want    []string
		wantErr string
	}{
		{
			name: "only version 2",
			in: `24 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate
`,
			want: []string{"/sys/fs/cgroup"},
		},
		{
			name: "both versions, version 2 first",
			in: `31 30 0:27 / /sys/fs/cgroup/cpu,cpuacct rw master:1 shared:5 - cgroup cgroup rw,cpu,cpuacct
32 30 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
33 30 0:29 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
`,
			want: []string{"/sys/fs/cgroup/unified", "/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup/memory"},
		},
		{
			name: "only version 1",
			in:   "31 30 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n",
			want: []string{"/sys/fs/cgroup/cpu"},
		},
		{
			name:    "none",
			in:      "24 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n",
			wantErr: "no control groups are mounted",
		},
		{
			name:    "an invalid mountinfo",
			in:      "24 1\n",
			wantErr: `cannot read "24 1"`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			mounts, err := parseMounts(strings.NewReader(test.in))
			var got []string
			if err == nil {
				got, err = hierarchies(mounts)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("hierarchies (-want +got):\n%s", diff)
			}
			wantError(t, err, test.wantErr)
		})
	}
}

func TestNodesInDifferentFoldersHaveDifferentControlGroups(t *testing.T) {
	a, b := cgroupName("/tmp/a"), cgroupName("/tmp/b")
	if a == b || a != cgroupName("/tmp/a") {
		t.Errorf("cgroupName() = %s and %s, want two different, stable names", a, b)
	}
}

func TestUnifiedHierarchyEnablesTheControllersOfAKubelet(t *testing.T) {
	for _, test := range []struct {
		name  string
		files map[string]string
		alone bool
		want  string
	}{
		{
			name:  "version 2",
			files: map[string]string{"cgroup.controllers": "cpuset cpu io memory hugetlb pids rdma misc\n"},
			alone: true,
			want:  "+cpu +cpuset +memory +pids +hugetlb",
		},
		{
			name:  "version 2 without huge pages",
			files: map[string]string{"cgroup.controllers": "cpuset cpu memory pids\n"},
			alone: true,
			want:  "+cpu +cpuset +memory +pids",
		},
		{
			name:  "version 2 beside version 1",
			files: map[string]string{"cgroup.controllers": "hugetlb\n"},
			want:  "unchanged",
		},
		{
			name:  "version 1",
			alone: true,
			want:  "unchanged",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			control := filepath.Join(dir, "cgroup.subtree_control")
			for name, text := range test.files {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(control, []byte("unchanged"), 0o600); err != nil {
				t.Fatal(err)
			}
			hierarchies := []string{dir}
			if !test.alone {
				hierarchies = append(hierarchies, t.TempDir())
			}
			if err := passControllers(hierarchies); err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(control)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != test.want {
				t.Errorf("enabled controllers %q, want %q", got, test.want)
			}
		})
	}
}
