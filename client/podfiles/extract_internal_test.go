// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package podfiles

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-go/sdk/core/request"
)

// pack returns an archive with the given entries.
func pack(t testing.TB, headers ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range headers {
		content := h.PAXRecords["content"]
		h.PAXRecords = nil
		if h.Typeflag == 0 {
			h.Typeflag = tar.TypeReg
		}
		if h.Mode == 0 {
			h.Mode = 0o755
		}
		h.Size = int64(len(content))
		h.ModTime = time.Unix(1e9, 0)
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func dir(name string) tar.Header { return tar.Header{Name: name, Typeflag: tar.TypeDir} }

func file(name, content string) tar.Header {
	return tar.Header{Name: name, PAXRecords: map[string]string{"content": content}}
}

func link(name, target string) tar.Header {
	return tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: target}
}

func hard(name, target string) tar.Header {
	return tar.Header{Name: name, Typeflag: tar.TypeLink, Linkname: target}
}

// tree returns the files below a directory: the contents of files, the targets of links after an arrow, and "/" for
// directories.
func tree(t testing.TB, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		switch {
		case err != nil || rel == ".":
			return err
		case entry.IsDir():
			all[rel] = "/"
		case entry.Type() == fs.ModeSymlink:
			target, err := os.Readlink(path)
			all[rel] = "-> " + target
			return err
		default:
			content, err := os.ReadFile(path)
			all[rel] = string(content)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestUnpack checks that an archive is unpacked below the given path, and nowhere else.
func TestUnpack(t *testing.T) {
	for _, tc := range []struct {
		name   string
		there  func(t *testing.T, parent string) // prepares the parent
		in     []tar.Header
		want   map[string]string // below the parent
		failed []string          // paths of the PartialError
	}{
		{
			name: "a directory", in: []tar.Header{
				dir("./x/"), file("./x/f", "1"), dir("x/d"), file("x/d/f", "2"),
				link("x/l", "d/f"), hard("x/h", "./x/f"),
			},
			want: map[string]string{"out": "/", "out/f": "1", "out/d": "/", "out/d/f": "2", "out/l": "-> d/f", "out/h": "1"},
		},
		{name: "a file", in: []tar.Header{file("./x", "1")}, want: map[string]string{"out": "1"}},
		{
			name: "omitted parent directories", in: []tar.Header{file("x/a/b/f", "1")},
			want: map[string]string{"out": "/", "out/a": "/", "out/a/b": "/", "out/a/b/f": "1"},
		},
		{
			name: "names that lead outside", in: []tar.Header{
				dir("x"), file("x/../../evil", "1"), file("/x/f", "2"),
				file("../evil", "3"), file("y/f", "4"), file("x/ok", "5"),
			},
			want: map[string]string{"out": "/", "out/ok": "5"}, failed: []string{"x/../../evil", "/x/f", "../evil", "y/f"},
		},
		{
			name: "links that lead outside", in: []tar.Header{
				dir("x"), dir("x/d"), link("x/abs", "/etc"), link("x/up", ".."), link("x/d/up", "../.."), link("x/d/ok",
					"../f"), hard("x/hard", "../evil"), hard("x/hard2", "/etc/passwd"),
			},
			want: map[string]string{"out": "/", "out/d": "/", "out/d/ok": "-> ../f"}, failed: []string{
				"abs", "up", "d/up",
				"hard", "hard2",
			},
		},
		{
			name: "links that lead outside through other links", in: []tar.Header{
				dir("x"), dir("x/d"), link("x/d/root", ".."), link("x/out", "d/root/../evil"), hard("x/out2",
					"x/d/root"), hard("x/d/root2", "x/d/root"),
				link("x/in", "./d//root"),
			},
			want: map[string]string{
				"out": "/", "out/d": "/", "out/d/root": "-> ..", "out/d/root2": "-> ..",
				"out/in": "-> ./d//root",
			}, failed: []string{"out", "out2"},
		},
		{
			name: "a hard link to a missing file", in: []tar.Header{dir("x"), hard("x/f", "x/none")},
			want: map[string]string{"out": "/"}, failed: []string{"f"},
		},
		{
			name: "a file below a link", in: []tar.Header{
				dir("x"), dir("x/d"), link("x/l", "d"), file("x/l/f", "1"),
				link("x/l/m", ".."),
			},
			want: map[string]string{"out": "/", "out/d": "/", "out/l": "-> d"}, failed: []string{"l/f", "l/m"},
		},
		{
			name: "a link in place of a directory", in: []tar.Header{dir("x"), dir("x/d"), link("x/d", "f"), file("x/d/f", "1")},
			want: map[string]string{"out": "/", "out/d": "/", "out/d/f": "1"}, failed: []string{"d"},
		},
		{
			name: "existing files", there: func(t *testing.T, parent string) {
				out := filepath.Join(parent, "out")
				err := errors.Join(os.Mkdir(out, 0o700), os.WriteFile(filepath.Join(parent, "mine"), []byte("mine"), 0o600),
					os.Symlink("../mine", filepath.Join(out, "f")), os.Symlink("..",
						filepath.Join(out, "d")), os.WriteFile(filepath.Join(out, "old"), nil, 0o600))
				if err != nil {
					t.Fatal(err)
				}
			},
			in: []tar.Header{dir("x"), file("x/f", "new"), file("x/d/evil", "1"), dir("x/d")},
			want: map[string]string{
				"mine": "mine", "out": "/", "out/f": "new", "out/d": "-> ..",
				"out/old": "",
			}, failed: []string{"d/evil", "d"},
		},
		{
			name: "a file and other entries", in: []tar.Header{file("x", "1"), file("x/f", "2"), file("y", "3")},
			want: map[string]string{"out": "1"}, failed: []string{"f", "y"},
		},
		{name: "a link", in: []tar.Header{link("x", "y")}, want: map[string]string{}, failed: []string{"."}},
		{
			name: "special files", in: []tar.Header{
				dir("x"),
				{Name: "x/pipe", Typeflag: tar.TypeFifo},
				{Name: "x/disk", Typeflag: tar.TypeBlock},
			},
			want: map[string]string{"out": "/"}, failed: []string{"pipe", "disk"},
		},
		{name: "an empty archive", want: map[string]string{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			parent := t.TempDir()
			if tc.there != nil {
				tc.there(t, parent)
			}
			x, err := newExtraction(filepath.Join(parent, "out"), "x", Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer x.close()
			if err := x.unpack(bytes.NewReader(pack(t, tc.in...))); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, tree(t, parent)); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
			var failed []string
			for _, f := range x.partial.Failed {
				failed = append(failed, f.Path)
			}
			if diff := cmp.Diff(tc.failed, failed); diff != "" {
				t.Errorf("failed (-want +got):\n%s\n%v", diff, x.partial.orNil())
			}
		})
	}
}

// TestUnpackOfASparseFile checks a file with a hole in the format of GNU tar, which a container may choose by
// TAR_OPTIONS=--sparse.
func TestUnpackOfASparseFile(t *testing.T) {
	archive := pack(t, tar.Header{Name: "x", Format: tar.FormatGNU, PAXRecords: map[string]string{"content": "data"}})
	header := archive[:512]
	header[156] = tar.TypeGNUSparse
	copy(header[386:], "00000000002\x0000000000004\x00") // the data has the offset 2 and the size 4
	copy(header[483:], "00000000010\x00")                // the size of the file is 8
	copy(header[148:], "        ")
	sum := 0
	for _, b := range header {
		sum += int(b)
	}
	copy(header[148:], fmt.Sprintf("%06o\x00 ", sum))
	local := filepath.Join(t.TempDir(), "out")
	x, err := newExtraction(local, "x", Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer x.close()
	if err := x.unpack(bytes.NewReader(archive)); err != nil || x.partial.orNil() != nil {
		t.Fatal(err, x.partial.orNil())
	}
	if data, err := os.ReadFile(local); err != nil || string(data) != "\x00\x00data\x00\x00" {
		t.Errorf("the file has %q, %v", data, err)
	}
}

func TestUnpackIsLimited(t *testing.T) {
	archive := pack(t, dir("x"), file("x/a", "12345"), file("x/b", "12345"))
	outside := pack(t, dir("x"), file("a", "1"), file("b", "1"))
	parents := pack(t, dir("x"), file("x/a/b/c", "1"))
	for _, tc := range []struct {
		name    string
		archive []byte
		o       Options
		want    LimitError
	}{
		{"bytes", archive, Options{MaxBytes: 9}, LimitError{"MaxBytes", 9}},
		{"files", archive, Options{MaxFiles: 2}, LimitError{"MaxFiles", 2}},
		{"files outside of the directory", outside, Options{MaxFiles: 2}, LimitError{"MaxFiles", 2}},
		{"parents without an entry", parents, Options{MaxFiles: 3}, LimitError{"MaxFiles", 3}},
	} {
		x, err := newExtraction(filepath.Join(t.TempDir(), "out"), "x", tc.o)
		if err != nil {
			t.Fatal(err)
		}
		err = x.unpack(bytes.NewReader(tc.archive))
		if limit, ok := errors.AsType[*LimitError](err); !ok || *limit != tc.want {
			t.Errorf("%s: unpack() = %v, want %v", tc.name, err, &tc.want)
		}
		x.close()
	}
}

func TestNegativeLimitsOfADownloadAreErrors(t *testing.T) {
	for _, o := range []Options{{MaxBytes: -1}, {MaxFiles: -1}} {
		_, err := newExtraction(filepath.Join(t.TempDir(), "out"), "x", o)
		if invalid, ok := errors.AsType[*request.InvalidError](err); !ok || !strings.Contains(invalid.Detail, "negative") {
			t.Errorf("newExtraction(%+v) = %v, want an InvalidError", o, err)
		}
	}
}

// TestUnpackOfTruncatedArchives checks that a truncated archive leaves no incomplete file.
func TestUnpackOfTruncatedArchives(t *testing.T) {
	archive := pack(t, dir("x"), file("x/a", strings.Repeat("a", 1000)), file("x/b", strings.Repeat("b", 1000)))
	for n := 0; n < len(archive)-1024; n += 64 {
		parent := t.TempDir()
		x, err := newExtraction(filepath.Join(parent, "out"), "x", Options{})
		if err != nil {
			t.Fatal(err)
		}
		cut := io.MultiReader(bytes.NewReader(archive[:n]), brokenReader{})
		if n%512 == 0 { // the stream may also end there without an error
			cut = bytes.NewReader(archive[:n])
		}
		if err := x.unpack(cut); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("cut after %d bytes: unpack() = %v", n, err)
		}
		x.close()
		for name, content := range tree(t, parent) {
			if content != "/" && len(content) != 1000 {
				t.Errorf("cut after %d bytes: %s has %d bytes", n, name, len(content))
			}
		}
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// TestNamesAreQuotedInErrors checks that file names of a container cannot send escape sequences to the terminal.
func TestNamesAreQuotedInErrors(t *testing.T) {
	err := &PartialError{}
	err.add("a\x1b[2Jb\nc", errors.New("it is a link to \x1b]0;x\a"))
	err.add("日本/plain name", fs.ErrPermission)
	want := `2 files were not copied: "a\x1b[2Jb\nc": "it is a link to \x1b]0;x\a"; 日本/plain name: permission denied`
	if err.Error() != want {
		t.Errorf("Error() = %s, want %s", err, want)
	}
	said := &complaints{}
	_, _ = said.Write([]byte("tar: \x1b[31mno\n such file\r\n")) // never fails
	if want := "tar: [31mno;  such file"; said.String() != want {
		t.Errorf("String() = %q, want %q", said, want)
	}
}

// FuzzUnpack checks that no archive writes outside of the given path.
func FuzzUnpack(f *testing.F) {
	f.Add(pack(f, dir("x"), file("x/../../evil", "1"), link("x/l", ".."), file("x/l/evil", "2")))
	f.Add(pack(f, file("x", "1")))
	f.Fuzz(func(t *testing.T, archive []byte) {
		parent := t.TempDir()
		x, err := newExtraction(filepath.Join(parent, "out"), "x", Options{MaxBytes: 1 << 20, MaxFiles: 100})
		if err != nil {
			t.Fatal(err)
		}
		_ = x.unpack(bytes.NewReader(archive)) // any result is valid
		x.close()
		entries, err := os.ReadDir(parent)
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			if entry.Name() != "out" {
				t.Errorf("%s was written", entry.Name())
			}
			// Make it removable, whatever its mode.
			_ = filepath.WalkDir(filepath.Join(parent, entry.Name()), func(path string, d fs.DirEntry, _ error) error {
				if d != nil && d.IsDir() {
					return os.Chmod(path, 0o700)
				}
				return nil
			})
		}
	})
}

// TestHeadersOfDirectoriesAreNotKept checks that a download does not hold the extended headers or the full names of all
// directories in memory: each may have a MiB, and the limits of a download do not count them.
func TestHeadersOfDirectoriesAreNotKept(t *testing.T) {
	comment, element := strings.Repeat("x", 1<<19), "/"+strings.Repeat("x", 250)
	for _, tc := range []struct {
		name   string
		n      int
		header func(i int) tar.Header
		limit  int64
	}{
		{"headers", 64, func(i int) tar.Header {
			h := dir(fmt.Sprintf("x/%d", i))
			h.PAXRecords = map[string]string{"comment": comment}
			return h
		}, 8 << 20},
		{"names", 100, func(i int) tar.Header { return dir("x" + strings.Repeat(element, i+1)) }, 256 << 10},
		{"names of parents", 2, func(int) tar.Header { return file("x"+strings.Repeat(element, 100)+"/f", "") }, 256 << 10},
	} {
		t.Run(tc.name, func(t *testing.T) {
			archive, sink := io.Pipe()
			go func() {
				w := tar.NewWriter(sink)
				for i := range tc.n {
					h := tc.header(i)
					h.Mode, h.Format = 0o755, tar.FormatPAX
					if err := w.WriteHeader(&h); err != nil {
						break
					}
				}
				sink.CloseWithError(w.Close())
			}()
			x, err := newExtraction(filepath.Join(t.TempDir(), "out"), "x", Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer x.close()
			inUse := func() int64 {
				runtime.GC()
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				return int64(m.HeapAlloc)
			}
			before, most := inUse(), int64(0)
			x.counter.tell = func(p Progress) {
				if p.Files == tc.n-1 {
					most = inUse() - before
				}
			}
			if err := x.unpack(archive); err != nil || x.partial.orNil() != nil {
				t.Fatal(err, x.partial.orNil())
			}
			if most == 0 || most > tc.limit {
				t.Errorf("the directories take %d bytes, want at most %d", most, tc.limit)
			}
		})
	}
}
