// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package emit

import (
	"fmt"
	"go/types"
	"strings"

	"github.com/kube-go/sdk/derive/internal/kind"
)

// Imports has the names of the packages that a generated file imports.
type Imports struct{ im *imports }

// NewImports returns the imports of a new file of a package.
func NewImports(pkg *types.Package) *Imports { return &Imports{newImports(pkg)} }

// Name returns the name of a package in the file.
func (i *Imports) Name(pkgPath, pkgName string) string { return i.im.name(pkgPath, pkgName) }

// TypeString formats a type, and adds the necessary imports.
func (i *Imports) TypeString(t types.Type) string { return i.im.typeString(t) }

// Block returns the import declaration.
func (i *Imports) Block() string { return i.im.block() }

// Comment formats a text as a comment.
func Comment(text string) string { return comment(text) }

// Resource returns the resource of a kind as a literal of core.Resource. core is the name of that package in the file.
func Resource(k *kind.Kind, core string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s.Resource{\n", core)
	fmt.Fprintf(&b, "\t\tGroup: %q,\n\t\tVersion: %q,\n\t\tKind: %q,\n\t\tPlural: %q,\n", k.Group, k.Version, k.Name, k.Plural)
	if !k.Cluster {
		b.WriteString("\t\tNamespaced: true,\n")
	}
	fmt.Fprintf(&b, "\t\tSingular: %q,\n", k.Singular)
	for _, list := range []struct {
		name  string
		items []string
	}{{"ShortNames", k.ShortNames}, {"Categories", k.Categories}, {"Subresources", k.Subresources()}} {
		if len(list.items) > 0 {
			fmt.Fprintf(&b, "\t\t%s: %#v,\n", list.name, list.items)
		}
	}
	b.WriteString("\t}")
	return b.String()
}
