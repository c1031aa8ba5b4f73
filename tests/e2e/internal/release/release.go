// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package release publishes this repository's modules to a module proxy in a folder, so that a test can use them as a
// stranger would.
package release

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing/fstest"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// Root is where the path of every module of this repository begins.
const Root = "github.com/kube-go/sdk"

// Publish writes the modules in these folders of the repository to a module proxy in the directory proxy. They get one
// version, which it returns: the same for the same files, and for no others, so that no cache can pass off old files as
// these. As in a real release the siblings a go.mod requires have that version too, and nothing is replaced. It is an
// error if a module would not work without what is beside it here.
func Publish(repository, proxy string, folders []string) (version string, err error) {
	modules := map[string]fstest.MapFS{}
	sum := sha256.New()
	for _, folder := range folders {
		files, err := read(repository, folder)
		if err != nil {
			return "", fmt.Errorf("read module %s: %w", folder, err)
		}
		modules[path.Join(Root, folder)] = files
		add(sum, files)
	}
	// The x keeps a sum of nothing but digits from being a number, which must not begin with 0.
	version = "v0.1.0-rehearsal.x" + hex.EncodeToString(sum.Sum(nil)[:6])
	for name, files := range modules {
		self := module.Version{Path: name, Version: version}
		if files["go.mod"].Data, err = released(files["go.mod"].Data, self, modules); err != nil {
			return "", fmt.Errorf("release module %s: %w", name, err)
		}
		if err := write(filepath.Join(proxy, filepath.FromSlash(name), "@v"), self, files); err != nil {
			return "", fmt.Errorf("write module %s: %w", name, err)
		}
	}
	return version, nil
}

// read returns the files that belong to the module, which leaves out modules inside it. Like the go command, it takes
// the repository's licence for a module that has none.
func read(repository, folder string) (fstest.MapFS, error) {
	root := filepath.Join(repository, filepath.FromSlash(folder))
	checked, err := zip.CheckDir(root)
	if err != nil {
		return nil, err
	}
	files := fstest.MapFS{}
	load := func(name, file string) error {
		content, err := os.ReadFile(file)
		files[name] = &fstest.MapFile{Data: content}
		return err
	}
	for _, file := range checked.Valid {
		name, err := filepath.Rel(root, file)
		if err != nil {
			return nil, err
		}
		if err := load(filepath.ToSlash(name), file); err != nil {
			return nil, err
		}
	}
	if files["LICENSE"] == nil {
		if err := load("LICENSE", filepath.Join(repository, "LICENSE")); err != nil {
			return nil, err
		}
	}
	if files["go.mod"] == nil {
		return nil, errors.New("it has no go.mod")
	}
	return files, nil
}

func add(sum hash.Hash, files fstest.MapFS) {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(sum, "%q %d\n%s", name, len(files[name].Data), files[name].Data)
	}
}

// released returns the go.mod that a release of the module has.
func released(text []byte, self module.Version, modules map[string]fstest.MapFS) ([]byte, error) {
	file, err := modfile.Parse("go.mod", text, nil)
	if err != nil {
		return nil, err
	}
	if file.Module.Mod.Path != self.Path {
		return nil, fmt.Errorf("its go.mod calls it %s", file.Module.Mod.Path)
	}
	for _, replace := range slices.Clone(file.Replace) {
		if modules[replace.Old.Path] == nil {
			return nil, fmt.Errorf("it replaces %s, which does nothing for those who use it", replace.Old.Path)
		}
		if err := file.DropReplace(replace.Old.Path, replace.Old.Version); err != nil {
			return nil, err
		}
	}
	for _, require := range slices.Clone(file.Require) {
		if !strings.HasPrefix(require.Mod.Path, Root+"/") {
			continue
		}
		if modules[require.Mod.Path] == nil {
			return nil, fmt.Errorf("it requires %s, which is not released", require.Mod.Path)
		}
		if err := file.AddRequire(require.Mod.Path, self.Version); err != nil {
			return nil, err
		}
	}
	file.Cleanup()
	return file.Format()
}

// write writes what a module proxy serves: https://go.dev/ref/mod#goproxy-protocol.
func write(dir string, self module.Version, files fstest.MapFS) (err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	info, err := json.Marshal(map[string]string{"Version": self.Version})
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{
		"list": []byte(self.Version + "\n"), self.Version + ".info": info, self.Version + ".mod": files["go.mod"].Data,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return err
		}
	}
	out, err := os.Create(filepath.Join(dir, self.Version+".zip"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	var content []zip.File
	for name := range files {
		content = append(content, entry{files, name})
	}
	return zip.Create(out, self, content)
}

// entry is a file on its way into a zip.
type entry struct {
	files fstest.MapFS
	name  string
}

func (e entry) Path() string                 { return e.name }
func (e entry) Lstat() (fs.FileInfo, error)  { return e.files.Stat(e.name) }
func (e entry) Open() (io.ReadCloser, error) { return e.files.Open(e.name) }
