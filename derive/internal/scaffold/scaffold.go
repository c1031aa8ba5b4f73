// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package scaffold

import (
	"bytes"
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

//go:embed testdata/project
var templates embed.FS

// root is where the templates are.
const root = "testdata/project"

// longestKind leaves room for -controller behind it in a label.
const longestKind = validation.LabelValueMaxLength - len("-controller")

// Project is what is particular to one project.
type Project struct {
	Module string // the path of its Go module
	Group  string // the API group of its kind
	Kind   string

	// KindVersion is the version of the kind, such as v1alpha1. Default: v1.
	KindVersion string

	// Version is that of the SDK which the project requires.
	Version string

	// SDK is a checkout of the SDK that is used in place of a release; empty for none.
	SDK string

	// Webhook adds webhooks that validate and mutate objects of the kind.
	Webhook bool
}

// File is a file of a project.
type File struct {
	Path    string // slashed, relative to the project
	Content []byte
}

var (
	modulePath = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._~-]*(/[A-Za-z0-9._~-]+)*$`)
	kindName   = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)
)

// Check reports what is wrong with the names of a project.
func (p *Project) Check() error {
	if !modulePath.MatchString(p.Module) {
		return fmt.Errorf("module %q is not a module path; name one such as example.com/shop with -module", p.Module)
	}
	return errors.Join(checkKind(p.Kind), checkGroup(p.Group), checkVersion(p.kindVersion()))
}

func (p *Project) kindVersion() string { return cmp.Or(p.KindVersion, "v1") }

// replaced are the modules of the SDK that a project takes from a checkout, with their folders.
func replaced() []string { return []string{"client", "core", "derive", "kube", "kubetest", "runtime"} }

// Files returns the files of a project, ordered by path.
func (p *Project) Files() ([]File, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	k := &Kind{Name: p.Kind, Group: p.Group, Version: p.kindVersion()}
	at := place{dir: "api/" + k.Version, alias: k.Version, isNew: true}
	var files []File
	err := fs.WalkDir(templates, root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := templates.ReadFile(name)
		if err != nil {
			return err
		}
		f, err := k.file(p.Module, at, target(strings.TrimPrefix(name, root+"/")), string(text),
			"v0.0.0-sdk", p.Version,
			"api/v1/", at.dir+"/",
		)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(files, func(other File) bool { return other.Path == f.Path }) {
			return fmt.Errorf("kind %q: the project has another %s; choose another name with -kind", p.Kind, f.Path)
		}
		if p.SDK != "" {
			p.useCheckout(&f)
		}
		files = append(files, f)
		return nil
	})
	if err != nil || !p.Webhook {
		return files, err
	}
	t, err := newTree(files)
	if err != nil {
		return nil, err
	}
	err = t.AddWebhook(p.Kind, p.Group, Webhooks{Validate: true, Mutate: true})
	return t.Files(), err
}

// useCheckout has a file name the checkout where it names a release.
func (p *Project) useCheckout(f *File) {
	switch f.Path {
	case "go.mod":
		var b strings.Builder
		for _, module := range replaced() {
			fmt.Fprintf(&b, "\tgithub.com/kube-go/sdk/%s => %q\n", module, filepath.Join(p.SDK, module))
		}
		f.Content = fmt.Appendf(f.Content, "\nreplace (\n%s)\n", b.String())
	case "Makefile":
		command := "go run github.com/kube-go/sdk/tests/cluster/cmd/kubecluster@" + p.Version
		inCheckout := fmt.Sprintf("go -C '%s' run ./cmd/kubecluster", filepath.Join(p.SDK, "tests", "cluster"))
		f.Content = bytes.Replace(f.Content, []byte(command), []byte(inCheckout), 1)
	}
}

// target returns the name that a template has in a project. Those that begin with a dot and go.mod are not embedded as
// such.
func target(name string) string {
	switch name {
	case "go.mod.txt":
		return "go.mod"
	case "gitignore", "dockerignore", "golangci.yml":
		return "." + name
	}
	return name
}

// ExistsError says that files are there already.
type ExistsError struct {
	Dir   string
	Paths []string // as those of [File]
}

// Error names the files.
func (e *ExistsError) Error() string {
	return fmt.Sprintf("%s has %s already, and nothing is overwritten: choose another directory, or move what is there away",
		e.Dir, strings.Join(e.Paths, ", "))
}

// CheckVacant reports which of the files are there already in a directory.
//
// Errors: [*ExistsError].
func CheckVacant(dir string, files []File) error {
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return fmt.Errorf("%s exists and is not a directory: choose another", dir)
	}
	var there []string
	for _, f := range files {
		if _, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(f.Path))); err == nil {
			there = append(there, f.Path)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if len(there) > 0 {
		return &ExistsError{dir, there}
	}
	return nil
}

// Read returns the files below a directory, ordered by path.
func Read(dir string) ([]File, error) {
	var files []File
	tree := os.DirFS(dir)
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := fs.ReadFile(tree, name)
		files = append(files, File{name, content})
		return err
	})
	return files, err
}

// Change is a file that is new or has new content.
type Change struct {
	File

	Old []byte // unless it is new
	New bool
}

// Write writes files below a directory: all or none, and none when one of them is there already.
//
// Errors: [*ExistsError].
func Write(dir string, files []File) error {
	if err := CheckVacant(dir, files); err != nil {
		return err
	}
	changes := make([]Change, len(files))
	for i, f := range files {
		changes[i] = Change{File: f, New: true}
	}
	_, err := Apply(dir, changes)
	return err
}

// Apply makes changes below a directory: all or none. It returns a function that undoes them.
func Apply(dir string, changes []Change) (undo func() error, err error) {
	for i, c := range changes {
		name := filepath.Join(dir, filepath.FromSlash(c.Path))
		if c.New {
			err = create(name, c.Content)
		} else {
			err = replace(name, c.Content, c.Old)
		}
		if err != nil {
			return nil, errors.Join(err, revert(dir, changes[:i]))
		}
	}
	return func() error { return revert(dir, changes) }, nil
}

// revert undoes changes.
func revert(dir string, changes []Change) error {
	var errs []error
	for _, c := range slices.Backward(changes) {
		name := filepath.Join(dir, filepath.FromSlash(c.Path))
		if !c.New {
			errs = append(errs, replace(name, c.Old, c.Content))
			continue
		}
		errs = append(errs, os.Remove(name))
		for up := filepath.Dir(name); len(up) > len(filepath.Clean(dir)) && os.Remove(up) == nil; up = filepath.Dir(up) {
		} // of folders, only the empty ones
	}
	return errors.Join(errs...)
}

// replace replaces the content of a file, unless somebody else has changed it.
func replace(name string, content, old []byte) error {
	now, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if !bytes.Equal(now, old) {
		return fmt.Errorf("%s has changed meanwhile: run the command again", name)
	}
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	return os.WriteFile(name, content, info.Mode().Perm())
}

// create makes a new file, or none.
func create(name string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644) // never through a link that came meanwhile
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(name))
	}
	return nil
}
