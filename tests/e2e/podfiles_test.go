// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/client/podfiles"
	"github.com/kube-go/sdk/kube"
)

// testFiles checks that a directory is copied to a container and back unchanged, and that errors say why a copy fails.
func testFiles(t *testing.T, pods *kube.API[corev1.Pod]) {
	var last podfiles.Progress
	files := podfiles.In(podVerbs(pods), "talker", &podfiles.Options{
		Container: "web", Progress: func(p podfiles.Progress) { last = p },
	})
	from, to := filepath.Join(t.TempDir(), "from"), filepath.Join(t.TempDir(), "to")
	plant(t, from)
	up, err := files.Upload(limit(t), from, "/tmp/copy")
	if err != nil {
		t.Fatal(err)
	}
	if last.Stats != up || up.Files != 6 || up.Bytes != 8<<20+5 {
		t.Errorf("uploaded %+v, the last progress was %+v", up, last)
	}
	down, err := files.Download(limit(t), "/tmp/copy", to)
	if err != nil || down != up {
		t.Errorf("downloaded %+v, %v, want %+v", down, err, up)
	}
	if diff := cmp.Diff(survey(t, from), survey(t, to)); diff != "" {
		t.Errorf("downloaded directory (-sent +got):\n%s", diff)
	}

	none := filepath.Join(t.TempDir(), "none")
	_, err = files.Download(limit(t), "/tmp/none", none)
	if err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("Download of a missing file: %v, want no such file", err)
	}
	if _, err := os.Stat(none); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Stat after a failed download: %v, want ErrNotExist", err)
	}
	bare := podfiles.In(podVerbs(pods), "talker", &podfiles.Options{Container: "bare"})
	if _, err := bare.Upload(limit(t), from, "/tmp/copy"); !errors.Is(err, podfiles.ErrNoTar) {
		t.Errorf("Upload to a container without tar: %v, want ErrNoTar", err)
	}
	if _, err := bare.Download(limit(t), "/tmp", none); !errors.Is(err, podfiles.ErrNoTar) {
		t.Errorf("Download from a container without tar: %v, want ErrNoTar", err)
	}
}

// testFilesOfSystem copies files to and from a container with the shell and the tar of this machine, and with a
// read-only root file system.
func testFilesOfSystem(t *testing.T, pods *kube.API[corev1.Pod]) {
	for _, program := range []string{"sh", "tar"} {
		if _, err := os.Stat(filepath.Join("/usr/bin", program)); err != nil {
			if os.Getenv("KUBECLUSTER_NODE") != "" {
				t.Fatal(err)
			}
			t.Skip("needs programs of the machine of the node: ", err)
		}
	}
	system := talker("system")
	c := &system.Spec.Containers[0]
	c.Env = []corev1.EnvVar{{Name: "PATH", Value: "/usr/bin"}}
	c.SecurityContext = &corev1.SecurityContext{ReadOnlyRootFilesystem: new(true)}
	mount := func(at string, source corev1.VolumeSource) {
		name := strings.Trim(strings.ReplaceAll(at, "/", "-"), "-")
		system.Spec.Volumes = append(system.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: source})
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: at, ReadOnly: source.EmptyDir == nil})
	}
	for _, at := range []string{"/usr", "/lib", "/lib64"} {
		path, err := filepath.EvalSymlinks(at)
		if err != nil {
			continue // some architectures have no /lib64
		}
		mount(at, corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: path}})
	}
	mount("/data", corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}})
	system.Spec.Containers = system.Spec.Containers[:1]
	startPod(t, pods, system)

	files := podfiles.In(podVerbs(pods), "system", nil)
	from := filepath.Join(t.TempDir(), "from")
	plant(t, from)
	for _, to := range []string{"/data/copy", "/data"} { // the parent of the second one is read-only
		if up, err := files.Upload(limit(t), from, to); err != nil || up.Files != 6 {
			t.Errorf("Upload to %s: %+v, %v", to, up, err)
		}
	}
	back := filepath.Join(t.TempDir(), "back")
	if _, err := files.Download(limit(t), "/data/copy", back); err != nil {
		t.Fatal(err)
	}
	want, got := slices.Sorted(maps.Keys(survey(t, from))), slices.Sorted(maps.Keys(survey(t, back)))
	if diff := cmp.Diff(want, got); diff != "" { // its tar sends no fractions of seconds
		t.Errorf("downloaded names (-sent +got):\n%s", diff)
	}
	for to, want := range map[string]error{
		"/none/copy": fs.ErrNotExist, "/data/sub/large/copy": fs.ErrNotExist,
		"/copy": fs.ErrPermission, "/usr/copy": fs.ErrPermission,
	} {
		if _, err := files.Upload(limit(t), from, to); !errors.Is(err, want) {
			t.Errorf("Upload to %s: %v, want %v", to, err, want)
		}
	}
}

// plant creates a directory with files of several modes and sizes, a subdirectory and a symbolic link.
func plant(t *testing.T, dir string) {
	t.Helper()
	old := time.Date(2001, 2, 3, 4, 5, 6, 789_000_000, time.UTC)
	if err := os.MkdirAll(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"program": "hello", "sub/large": strings.Repeat("0123456789abcdef", 512<<10),
		"sub/" + strings.Repeat("long ", 40): "",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("sub/large", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]fs.FileMode{"program": 0o755, "sub/large": 0o400, "sub": 0o550, ".": 0o751} {
		file := filepath.Join(dir, name)
		if err := errors.Join(os.Chmod(file, mode), os.Chtimes(file, old, old)); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(file, 0o700) }) // so that the cleanup can remove it
	}
}

// survey returns a description of each file in a directory, by path: its mode, modification time and content.
func survey(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		desc, content := info.Mode().String(), []byte(nil)
		switch {
		case info.Mode().IsRegular():
			content, err = os.ReadFile(file)
			desc += " " + info.ModTime().UTC().String() + " " + string(content)
		case info.IsDir():
			desc += " " + info.ModTime().UTC().String()
		default:
			var target string
			target, err = os.Readlink(file)
			desc += " " + target
		}
		rel, relErr := filepath.Rel(dir, file)
		all[rel] = desc
		return errors.Join(err, relErr)
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
