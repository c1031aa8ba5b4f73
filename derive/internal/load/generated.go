// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"go/parser"
	"path/filepath"
)

// ApplyFile is the name of the file that kube-derive writes apply structs into. They have one of their own, since they
// are written only for those who ask for them.
const ApplyFile = "zz_generated.apply.go"

// HasApplyFile reports whether a root has apply structs.
func (pkg *Package) HasApplyFile() bool { return pkg.apply != nil }

// Module returns the path and the version of the module that a package belongs to. They are empty for the standard
// library, and the version also for modules that are being worked on.
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

// SetApplyFile makes [Program.Check] see a new file of apply structs in place of the old one.
func (p *Program) SetApplyFile(pkg *Package, src []byte) error {
	file, err := parser.ParseFile(p.fset, filepath.Join(pkg.Dir, ApplyFile), src, parser.SkipObjectResolution)
	pkg.apply = file
	return err
}
