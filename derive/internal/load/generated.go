// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"go/parser"
	"path/filepath"
)

// ApplyFile is the name of the file with apply structs, which kube-derive writes only on request.
const ApplyFile = "zz_generated.apply.go"

// HasApplyFile reports whether a root has apply structs.
func (pkg *Package) HasApplyFile() bool { return pkg.apply != nil }

// Module returns the path and the version of a package's module. Both are empty for the standard library, and the
// version is empty for main modules and local replacements.
func (pkg *Package) Module() (path, version string) {
	m := pkg.source.Module
	if m == nil {
		return "", ""
	}
	if m.Replace != nil {
		return m.Path, m.Replace.Version
	}
	return m.Path, m.Version
}

// SetApplyFile replaces the file of apply structs for [Program.Check].
func (p *Program) SetApplyFile(pkg *Package, src []byte) error {
	file, err := parser.ParseFile(p.fset, filepath.Join(pkg.Dir, ApplyFile), src, parser.SkipObjectResolution)
	pkg.apply = file
	return err
}
