// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// dockerfile is the content of a Dockerfile that builds one program in a first stage.
type dockerfile struct {
	build      string // shell command that builds the program
	program    string // path of the program
	user       string
	entrypoint []string
}

// readDockerfile reads the Dockerfile of a project.
func readDockerfile(t *testing.T, dir string) dockerfile {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	var d dockerfile
	lines := strings.ReplaceAll(string(text), "\\\n", " ")
	for line := range strings.Lines(lines) {
		instruction, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case instruction == "RUN" && strings.Contains(rest, "go build"):
			d.build = regexp.MustCompile(`--mount=\S+`).ReplaceAllString(rest, "")
		case instruction == "COPY" && strings.HasPrefix(rest, "--from=build "):
			d.program = strings.Fields(rest)[1]
			if strings.Fields(rest)[2] != d.program {
				t.Errorf("COPY %s: the paths are different", rest)
			}
		case instruction == "USER":
			d.user = rest
		case instruction == "ENTRYPOINT":
			if err := json.Unmarshal([]byte(rest), &d.entrypoint); err != nil {
				t.Errorf("ENTRYPOINT %s: %v", rest, err)
			}
		}
	}
	if d.build == "" || d.program == "" || len(d.entrypoint) != 1 || d.entrypoint[0] != d.program {
		t.Fatalf("the Dockerfile has no build, COPY or ENTRYPOINT of the program: %+v:\n%s", d, text)
	}
	if !regexp.MustCompile(`^[1-9]\d*:[1-9]\d*$`).MatchString(d.user) {
		t.Errorf("USER %s is not numeric: a kubelet cannot check that it is not root", d.user)
	}
	return d
}

// buildImage builds the image of a project without a container engine: it runs the build command of the Dockerfile in a
// copy of the project without the files in .dockerignore. It returns an archive of an image that contains only the
// program.
func (u user) buildImage(t *testing.T, name string) (archive string) {
	t.Helper()
	d := readDockerfile(t, u.dir)
	sources, out := t.TempDir(), t.TempDir()
	copyContext(t, u.dir, sources)
	script := strings.Replace(d.build, "-o "+d.program, "-o "+out+d.program, 1)
	cmd := exec.CommandContext(t.Context(), "sh", "-euc", script)
	cmd.Dir, cmd.Env = sources, append(u.env, "TARGETOS=linux", "TARGETARCH="+runtime.GOARCH)
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", d.build, err, output)
	}
	program, err := os.ReadFile(filepath.Join(out, d.program))
	if err != nil {
		t.Fatal(err)
	}
	archive = filepath.Join(out, "image.tar")
	if err := os.WriteFile(archive, packImage(t, name, d, program), 0o600); err != nil {
		t.Fatal(err)
	}
	return archive
}

// copyContext copies a project without the entries in its .dockerignore, which must be top-level files and directories.
func copyContext(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(from, ".dockerignore"))
	if err != nil {
		t.Fatal(err)
	}
	ignored := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		ignored[strings.TrimSpace(line)] = true
	}
	if err := os.CopyFS(to, without{os.DirFS(from), ignored}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"bin", "config"} { // they exist in the project
		if _, err := os.Stat(filepath.Join(to, name)); err == nil {
			t.Errorf("the build context contains %s", name)
		}
	}
}

// without is a file system without some top-level entries.
type without struct {
	fs.FS
	ignored map[string]bool
}

func (w without) ReadDir(name string) ([]fs.DirEntry, error) {
	all, err := fs.ReadDir(w.FS, name)
	var kept []fs.DirEntry
	for _, entry := range all {
		if !w.ignored[path.Join(name, entry.Name())] {
			kept = append(kept, entry)
		}
	}
	return kept, err
}

// packImage returns an OCI image layout: https://github.com/opencontainers/image-spec/blob/main/image-layout.md.
func packImage(t *testing.T, name string, d dockerfile, program []byte) []byte {
	t.Helper()
	const kind = "application/vnd.oci.image."
	var layout bytes.Buffer
	files := tar.NewWriter(&layout)
	blob := func(mediaType string, content []byte) map[string]any {
		sum := sha256.Sum256(content)
		digest := hex.EncodeToString(sum[:])
		addFile(t, files, "blobs/sha256/"+digest, content)
		return map[string]any{"mediaType": kind + mediaType, "digest": "sha256:" + digest, "size": len(content)}
	}
	var tree bytes.Buffer
	root := tar.NewWriter(&tree)
	addFile(t, root, strings.TrimPrefix(d.program, "/"), program)
	closeTar(t, root)
	layer := blob("layer.v1.tar", tree.Bytes())
	config := blob("config.v1+json", encode(t, map[string]any{
		"architecture": runtime.GOARCH, "os": "linux",
		"config": map[string]any{"User": d.user, "Entrypoint": d.entrypoint, "WorkingDir": "/"},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []any{layer["digest"]}},
	}))
	manifest := blob("manifest.v1+json", encode(t, map[string]any{
		"schemaVersion": 2, "mediaType": kind + "manifest.v1+json", "config": config, "layers": []any{layer},
	}))
	manifest["annotations"] = map[string]string{"io.containerd.image.name": name}
	addFile(t, files, "index.json", encode(t, map[string]any{
		"schemaVersion": 2, "mediaType": kind + "index.v1+json", "manifests": []any{manifest},
	}))
	addFile(t, files, "oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`))
	closeTar(t, files)
	return layout.Bytes()
}

func addFile(t *testing.T, w *tar.Writer, name string, content []byte) {
	t.Helper()
	if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(content))}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
}

func closeTar(t *testing.T, w *tar.Writer) {
	t.Helper()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func encode(t *testing.T, value any) []byte {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(fmt.Errorf("encode %T: %w", value, err))
	}
	return text
}
