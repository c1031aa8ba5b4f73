// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// kind is one row of the table.
type kind struct {
	goType       string // package path relative to k8s.io/api, a dot, the type's name
	Group        string
	Version      string
	Kind         string
	Plural       string // empty for a kind that has no collection
	Namespaced   bool
	Singular     string
	ShortNames   []string `json:",omitzero"`
	Categories   []string `json:",omitzero"`
	Verbs        []string
	Subresources []string `json:",omitzero"`
	note         string   // the reason why there is no collection
	hasClient    bool     // marked +genclient
}

// noCollection has the types that look like kinds, but that clients can't get or create by name, with the reason.
//
//nolint:gochecknoglobals // a table that is never changed
var noCollection = map[string]string{
	"apidiscovery/v2.APIGroupDiscovery":      "it is an item of discovery documents",
	"apidiscovery/v2beta1.APIGroupDiscovery": "it is an item of discovery documents",
	"apps/v1beta1.Scale":                     "it is the body of the subresource scale",
	"apps/v1beta2.Scale":                     "it is the body of the subresource scale",
	"authentication/v1.TokenRequest":         "it is the body of serviceaccounts/token",
	"autoscaling/v1.Scale":                   "it is the body of the subresource scale",
	"core/v1.RangeAllocation":                "it is not served; API servers store allocated addresses in it",
	"extensions/v1beta1.Scale":               "it is the body of the subresource scale",
	"imagepolicy/v1alpha1.ImageReview":       "it is not served; API servers send it to image policy webhooks",
	"policy/v1.Eviction":                     "it is the body of pods/eviction",
	"policy/v1beta1.Eviction":                "it is the body of pods/eviction",
}

// allVerbs are the verbs of a stored kind.
//
//nolint:gochecknoglobals // a table that is never changed
var allVerbs = []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}

// parseAPI returns every kind with object metadata in the packages below dir, as described by the source code, ordered
// by Go type.
func parseAPI(dir string) ([]kind, error) {
	registers, err := filepath.Glob(filepath.Join(dir, "*", "*", "register.go"))
	if err != nil {
		return nil, err
	}
	var kinds []kind
	for _, register := range registers {
		found, err := parsePackage(dir, filepath.Dir(register))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", register, err)
		}
		kinds = append(kinds, found...)
	}
	slices.SortFunc(kinds, func(a, b kind) int { return strings.Compare(a.goType, b.goType) })
	return kinds, nil
}

func parsePackage(root, dir string) ([]kind, error) {
	path, err := filepath.Rel(root, dir)
	if err != nil {
		return nil, err
	}
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	group, err := groupName(files)
	if err != nil {
		return nil, err
	}
	var kinds []kind
	for _, file := range files {
		for _, k := range kindsOf(file) {
			k.goType = filepath.ToSlash(path) + "." + k.Kind
			k.Group, k.Version = group, filepath.Base(path)
			if note, ok := noCollection[k.goType]; ok {
				k = kind{goType: k.goType, note: note}
			}
			kinds = append(kinds, k)
		}
	}
	return kinds, nil
}

// groupName returns the value of a package's constant GroupName.
func groupName(files []*ast.File) (string, error) {
	for _, file := range files {
		for _, decl := range file.Decls {
			gen, ok := decl.(*ast.GenDecl)
			if !ok || gen.Tok != token.CONST {
				continue
			}
			for _, spec := range gen.Specs {
				vs := spec.(*ast.ValueSpec)
				if vs.Names[0].Name == "GroupName" && len(vs.Values) == 1 {
					return strconv.Unquote(vs.Values[0].(*ast.BasicLit).Value)
				}
			}
		}
	}
	return "", fmt.Errorf("no constant GroupName")
}

// kindsOf returns the kinds that a file declares.
func kindsOf(file *ast.File) []kind {
	var kinds []kind
	end := file.Name.End() // the end of the previous declaration
	for _, decl := range file.Decls {
		from := end
		end = decl.End()
		gen, ok := decl.(*ast.GenDecl)
		if !ok || gen.Tok != token.TYPE || len(gen.Specs) != 1 {
			continue
		}
		spec := gen.Specs[0].(*ast.TypeSpec)
		st, ok := spec.Type.(*ast.StructType)
		if !ok || !embeds(st, "TypeMeta") || !embeds(st, "ObjectMeta") {
			continue
		}
		kinds = append(kinds, describe(spec.Name.Name, st, markers(file, from, decl.Pos())))
	}
	return kinds
}

// embeds reports whether a struct embeds the type of that name from metav1.
func embeds(st *ast.StructType, name string) bool {
	return slices.ContainsFunc(st.Fields.List, func(f *ast.Field) bool {
		sel, ok := f.Type.(*ast.SelectorExpr)
		return ok && len(f.Names) == 0 && sel.Sel.Name == name
	})
}

// markers returns the "+name=value" lines of the comments between two positions, because the markers of a type may be
// in several comments above it.
func markers(file *ast.File, from, to token.Pos) []string {
	var found []string
	for _, group := range file.Comments {
		if group.Pos() < from || group.End() > to {
			continue
		}
		for _, c := range group.List {
			line := strings.TrimSpace(strings.TrimPrefix(c.Text, "//"))
			if marker, ok := strings.CutPrefix(line, "+"); ok {
				found = append(found, marker)
			}
		}
	}
	return found
}

// describe derives the resource of a kind from its declaration and its markers.
func describe(name string, st *ast.StructType, markers []string) kind {
	k := kind{Kind: name, Plural: plural(name), Singular: strings.ToLower(name), Namespaced: true, Verbs: allVerbs}
	subresources := map[string]bool{"status": hasField(st, "Status")}
	for _, m := range markers {
		key, value, _ := strings.Cut(m, "=")
		switch key {
		case "genclient":
			k.hasClient = true
		case "genclient:nonNamespaced":
			k.Namespaced = false
		case "genclient:onlyVerbs":
			k.Verbs = strings.Split(strings.ToLower(value), ",")
		case "genclient:skipVerbs":
			skip := strings.Split(strings.ToLower(value), ",")
			k.Verbs = slices.DeleteFunc(slices.Clone(k.Verbs), func(v string) bool { return slices.Contains(skip, v) })
		case "genclient:method":
			for option := range strings.SplitSeq(value, ",") {
				if sub, ok := strings.CutPrefix(option, "subresource="); ok {
					subresources[sub] = true
				}
			}
		case "k8s:supportsSubresource":
			subresources[strings.Trim(value, `"/`)] = true
		}
	}
	if !slices.Contains(k.Verbs, "update") {
		subresources["status"] = false // the status of a review is part of the response
	}
	maps.DeleteFunc(subresources, func(_ string, has bool) bool { return !has })
	k.Subresources = slices.Sorted(maps.Keys(subresources))
	return k
}

func hasField(st *ast.StructType, name string) bool {
	return slices.ContainsFunc(st.Fields.List, func(f *ast.Field) bool {
		return slices.ContainsFunc(f.Names, func(id *ast.Ident) bool { return id.Name == name })
	})
}

// plural returns the plural of a kind, by the rules of English that Kubernetes applies.
func plural(kind string) string {
	s := strings.ToLower(kind)
	switch {
	case s == "endpoints":
		return s
	case strings.HasSuffix(s, "s"), strings.HasSuffix(s, "x"), strings.HasSuffix(s, "ch"), strings.HasSuffix(s, "sh"):
		return s + "es"
	case strings.HasSuffix(s, "y") && !strings.ContainsAny(s[len(s)-2:len(s)-1], "aeiou"):
		return s[:len(s)-1] + "ies"
	}
	return s + "s"
}
