// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package emit

import (
	"fmt"
	"go/types"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/kube-go/sdk/derive/internal/deepcopy"
)

// The packages that all generated kinds import.
const (
	CorePath    = "github.com/kube-go/sdk/core"
	MetaPath    = "k8s.io/apimachinery/pkg/apis/meta/v1"
	RuntimePath = "k8s.io/apimachinery/pkg/runtime"
)

// imports has the names of the imported packages.
type imports struct {
	pkg    *types.Package
	byPath map[string]string
	names  map[string]bool // the used names, also those of declarations of the package
}

func newImports(pkg *types.Package) *imports {
	im := &imports{pkg: pkg, byPath: map[string]string{}, names: map[string]bool{}}
	for _, name := range pkg.Scope().Names() {
		im.names[name] = true
	}
	return im
}

// version matches package names that are only a version.
var version = regexp.MustCompile(`^v[0-9]+((alpha|beta)[0-9]+)?$`)

// alien matches what a name can't contain.
var alien = regexp.MustCompile(`[^\pL\pN_]`)

// name returns the name of a package in the file.
func (im *imports) name(pkgPath, pkgName string) string {
	if name, ok := im.byPath[pkgPath]; ok {
		return name
	}
	base := pkgName
	if version.MatchString(base) {
		base = strings.TrimLeft(alien.ReplaceAllString(path.Base(path.Dir(pkgPath)), ""), "0123456789") + base
	}
	if deepcopy.IsLocal(base) || types.Universe.Lookup(base) != nil {
		base += "pkg"
	}
	name := base
	for n := 2; im.names[name]; n++ {
		name = fmt.Sprintf("%s%d", base, n)
	}
	im.names[name] = true
	im.byPath[pkgPath] = name
	return name
}

// typeString formats a type, and adds the necessary imports.
func (im *imports) typeString(t types.Type) string {
	return types.TypeString(t, func(p *types.Package) string {
		if p == im.pkg {
			return ""
		}
		return im.name(p.Path(), p.Name())
	})
}

// block returns the import declaration: the standard library, other modules, the SDK.
func (im *imports) block() string {
	groups := map[int][]string{}
	for _, p := range slices.Sorted(maps.Keys(im.byPath)) {
		line := fmt.Sprintf("\t%s %q\n", im.byPath[p], p)
		if im.byPath[p] == path.Base(p) {
			line = fmt.Sprintf("\t%q\n", p)
		}
		group := 1
		switch first, _, _ := strings.Cut(p, "/"); {
		case !strings.Contains(first, "."):
			group = 0
		case strings.HasPrefix(p, path.Dir(CorePath)+"/"):
			group = 2
		}
		groups[group] = append(groups[group], line)
	}
	var blocks []string
	for _, g := range slices.Sorted(maps.Keys(groups)) {
		blocks = append(blocks, strings.Join(groups[g], ""))
	}
	if len(blocks) == 0 {
		return ""
	}
	return "import (\n" + strings.Join(blocks, "\n") + ")\n"
}
