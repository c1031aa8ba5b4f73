// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package scaffold

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"go/format"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kube-go/sdk/derive/internal/kind"
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

	// Version is that of the SDK which the project requires.
	Version string

	// SDK is a checkout of the SDK that is used in place of a release; empty for none.
	SDK string
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
	switch {
	case !modulePath.MatchString(p.Module):
		return fmt.Errorf("module %q is no module path; name one such as example.com/shop with -module", p.Module)
	case !kindName.MatchString(p.Kind):
		return fmt.Errorf("kind %q must begin with a capital letter and go on with letters and digits, such as Order", p.Kind)
	case len(p.Kind) > longestKind:
		return fmt.Errorf("kind %q has %d letters; the names that are made of it leave room for %d", p.Kind, len(p.Kind), longestKind)
	case !strings.Contains(p.Group, "."):
		return fmt.Errorf("group %q must have a dot in it, such as shop.example.com", p.Group)
	}
	if msgs := validation.IsDNS1123Subdomain(p.Group); len(msgs) > 0 {
		return fmt.Errorf("group %q: %s", p.Group, strings.Join(msgs, "; "))
	}
	return nil
}

// replaced are the modules of the SDK that a project takes from a checkout, with their folders.
func replaced() []string { return []string{"client", "core", "derive", "kube", "runtime"} }

// Files returns the files of a project, ordered by path.
func (p *Project) Files() ([]File, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	singular := strings.ToLower(p.Kind)
	names := strings.NewReplacer(
		"example.com/kube-project", p.Module,
		"group.example.com", p.Group,
		"widgets", kind.Pluralize(p.Kind),
		"widget", singular,
		"Widget", p.Kind,
		"v0.0.0-sdk", p.Version,
	)
	var files []File
	err := fs.WalkDir(templates, root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := templates.ReadFile(name)
		if err != nil {
			return err
		}
		f := File{Path: names.Replace(target(strings.TrimPrefix(name, root+"/"))), Content: []byte(names.Replace(string(text)))}
		if path.Ext(f.Path) == ".go" { // what is aligned depends on the names
			if f.Content, err = format.Source(f.Content); err != nil {
				return fmt.Errorf("%s: %w", f.Path, err)
			}
		}
		if p.SDK != "" {
			p.useCheckout(&f)
		}
		files = append(files, f)
		return nil
	})
	return files, err
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

// target returns the name that a template has in a project. Those that begin with a dot and go.mod are not embedded as such.
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
		return fmt.Errorf("%s is there already and is no directory: choose another", dir)
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

// Write writes files below a directory: all or none, and none when one of them is there already.
//
// Errors: [*ExistsError].
func Write(dir string, files []File) error {
	if err := CheckVacant(dir, files); err != nil {
		return err
	}
	for i, f := range files {
		if err := write(filepath.Join(dir, filepath.FromSlash(f.Path)), f.Content); err != nil {
			for _, written := range files[:i] {
				err = errors.Join(err, os.Remove(filepath.Join(dir, filepath.FromSlash(written.Path))))
			}
			return err
		}
	}
	return nil
}

// write makes a new file, or none.
func write(name string, content []byte) error {
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
