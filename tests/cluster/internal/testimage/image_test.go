// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package testimage_test

import (
	"archive/tar"
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-go/sdk/tests/cluster/internal/testimage"
)

type descriptor struct {
	MediaType   string
	Digest      string
	Size        int
	Platform    map[string]string
	Annotations map[string]string
}

func TestImageIsAnOCILayoutWithValidDigestsAndSizes(t *testing.T) {
	var image bytes.Buffer
	if err := testimage.Write(&image, []byte("a program"), "arm64"); err != nil {
		t.Fatal(err)
	}
	files := untar(t, &image)
	blob := func(d descriptor, mediaType string) []byte {
		t.Helper()
		content, ok := files["blobs/"+strings.Replace(d.Digest, ":", "/", 1)]
		if !ok {
			t.Fatalf("blob %s does not exist", d.Digest)
		}
		if digest := fmt.Sprintf("sha256:%x", sha256.Sum256(content.body)); digest != d.Digest || len(content.body) != d.Size {
			t.Errorf("blob %s of %d bytes has the digest %s and %d bytes", d.Digest, d.Size, digest, len(content.body))
		}
		if d.MediaType != mediaType {
			t.Errorf("media type of %s = %s, want %s", d.Digest, d.MediaType, mediaType)
		}
		return content.body
	}
	if got, want := string(files["oci-layout"].body), `{"imageLayoutVersion":"1.0.0"}`; got != want {
		t.Errorf("oci-layout = %s, want %s", got, want)
	}
	var index struct{ Manifests []descriptor }
	decode(t, files["index.json"].body, &index)
	if len(index.Manifests) != 1 {
		t.Fatalf("the index has %d manifests, want 1", len(index.Manifests))
	}
	top := index.Manifests[0]
	if got := top.Annotations["io.containerd.image.name"]; got != testimage.Name {
		t.Errorf("the image's name is %q, want %q", got, testimage.Name)
	}
	if want := map[string]string{"architecture": "arm64", "os": "linux"}; !cmp.Equal(top.Platform, want) {
		t.Errorf("platform = %v, want %v", top.Platform, want)
	}
	var manifest struct {
		Config descriptor
		Layers []descriptor
	}
	decode(t, blob(top, "application/vnd.oci.image.manifest.v1+json"), &manifest)
	var config struct {
		Architecture, OS string
		Config           struct{ Entrypoint, Cmd, Env []string }
		RootFS           struct {
			DiffIDs []string `json:"diff_ids"`
		}
	}
	decode(t, blob(manifest.Config, "application/vnd.oci.image.config.v1+json"), &config)
	if want := []string{"/bin/tool"}; !cmp.Equal(config.Config.Entrypoint, want) {
		t.Errorf("entry point = %v, want %v", config.Config.Entrypoint, want)
	}
	if len(manifest.Layers) != 1 {
		t.Fatalf("the image has %d layers, want 1", len(manifest.Layers))
	}
	if want := []string{manifest.Layers[0].Digest}; !cmp.Equal(config.RootFS.DiffIDs, want) {
		t.Errorf("layers in the configuration = %v, want %v", config.RootFS.DiffIDs, want)
	}
	layer := untar(t, bytes.NewReader(blob(manifest.Layers[0], "application/vnd.oci.image.layer.v1.tar")))
	if got := layer["bin/tool"]; string(got.body) != "a program" || got.mode != 0o755 {
		t.Errorf("bin/tool = %q with mode %o, want the program with mode 755", got.body, got.mode)
	}
}

func TestImageIsReproducible(t *testing.T) {
	var first, second bytes.Buffer
	for _, image := range []*bytes.Buffer{&first, &second} {
		if err := testimage.Write(image, []byte("a program"), "amd64"); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("two images of one program differ")
	}
}

func TestWriteReturnsTheErrorOfItsWriter(t *testing.T) {
	if err := testimage.Write(brokenWriter{}, []byte("a program"), "amd64"); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("Write() = %v, want %v", err, io.ErrClosedPipe)
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestImageOfAnotherVersionIsNotTakenFromTheCache(t *testing.T) {
	cache := t.TempDir()
	archive, err := testimage.Build(t.Context(), cache, nil)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	// A version that names the image differently has packed the same program.
	other := bytes.ReplaceAll(want, []byte(testimage.Name), []byte("kube-go.test/tool:0"))
	for _, name := range []string{"image.tar", "image-0123456789ab.tar"} {
		if err := os.WriteFile(filepath.Join(filepath.Dir(archive), name), other, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(archive); err != nil {
		t.Fatal(err)
	}
	again, err := testimage.Build(t.Context(), cache, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(again); err != nil || !bytes.Equal(got, want) {
		t.Errorf("the archive %s has %d bytes, %v; want those of this version", again, len(got), err)
	}
}

func TestProgramInTheImageRuns(t *testing.T) {
	cache := t.TempDir()
	archive, err := testimage.Build(t.Context(), cache, nil)
	if err != nil {
		t.Fatal(err)
	}
	image, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer image.Close()
	program := extractProgram(t, image)
	t.Run("and exits with the given status", func(t *testing.T) {
		err := exec.CommandContext(t.Context(), program, "exit", "7").Run()
		if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 7 {
			t.Errorf("tool exit 7: %v", err)
		}
	})
	for _, test := range []struct {
		name string
		args []string
		want int
	}{
		{"and a server exits with 0 at SIGTERM", []string{"serve", "0"}, 0},
		{"and an echo server exits with 0 at SIGTERM", []string{"echo-server", "0"}, 0},
		{"and a cat that waits for input exits with 143 at SIGTERM", []string{"cat"}, 143},
		{"and a program that waits for a timer exits with 143 at SIGTERM", []string{"lines", "2", "1h"}, 143},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := terminate(t, program, test.args...); got != test.want {
				t.Errorf("tool %v ended with %d, want %d", test.args, got, test.want)
			}
		})
	}
	t.Run("and the next build takes it from the cache", func(t *testing.T) {
		again, err := testimage.Build(t.Context(), cache, func(line string) { t.Errorf("progress %q", line) })
		if err != nil || again != archive {
			t.Errorf("Build() = %q, %v, want %q", again, err, archive)
		}
	})
}

// terminate starts the program, which must print a line, sends it SIGTERM and returns its exit status.
func terminate(t *testing.T, program string, args ...string) int {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(in, "for cat")
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Errorf("read what tool %v prints: %v", args, err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	err = cmd.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode()
	}
	if err != nil {
		t.Error(err)
	}
	return 0
}

// extractProgram returns the path of the program of the image, written to a file.
func extractProgram(t *testing.T, image io.Reader) string {
	t.Helper()
	for name, file := range untar(t, image) {
		if !strings.HasPrefix(name, "blobs/") || bytes.HasPrefix(file.body, []byte("{")) {
			continue
		}
		program := filepath.Join(t.TempDir(), "tool")
		if err := os.WriteFile(program, untar(t, bytes.NewReader(file.body))["bin/tool"].body, 0o700); err != nil {
			t.Fatal(err)
		}
		return program
	}
	t.Fatal("the image has no layer")
	return ""
}

type file struct {
	mode int64
	body []byte
}

func untar(t *testing.T, r io.Reader) map[string]file {
	t.Helper()
	files := map[string]file{}
	for archive := tar.NewReader(r); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		files[header.Name] = file{header.Mode, body}
	}
}

func decode(t *testing.T, content []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(content, into); err != nil {
		t.Fatalf("decode %s: %v", content, err)
	}
}
