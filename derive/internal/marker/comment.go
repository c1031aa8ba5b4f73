// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package marker

import "go/ast"

// DocOf returns the doc comment of a declaration; nil for none.
func DocOf(d ast.Decl) *ast.CommentGroup {
	switch d := d.(type) {
	case *ast.FuncDecl:
		return d.Doc
	case *ast.GenDecl:
		return d.Doc
	}
	return nil
}
