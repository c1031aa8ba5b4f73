// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package finder

import (
	"cmp"
	"fmt"
	"go/token"
	"go/types"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/kube-go/sdk/derive/internal/kind"
	"github.com/kube-go/sdk/derive/internal/load"
	"github.com/kube-go/sdk/derive/internal/shape"
)

// finder finds the kinds of one package.
type finder struct {
	program *load.Program
	pkg     *load.Package
	report  func(pos token.Position, msg string)
}

// Which selects the complete types that are kinds.
type Which bool

// The selections.
const (
	Marked Which = false // the types with +kubebuilder:object:root=true
	All    Which = true  // also types that embed the two metadata types in a package with a +groupName
)

// Find returns the kinds that a package defines, in the order of its sources. It reports mistakes.
func Find(program *load.Program, pkg *load.Package, which Which, report func(token.Position, string)) []*kind.Kind {
	f := &finder{program, pkg, report}
	all := which == All && program.PackageMarker(pkg, "groupName") != nil
	var kinds []*kind.Kind
	for _, obj := range pkg.TypeNames() {
		decl := program.Decl(obj)
		var k *kind.Kind
		switch root := decl.Get("kubebuilder:object:root"); {
		case decl.Has("kube:resource"):
			k = f.spec(obj, decl)
		case enabled(root) && isGeneric(obj):
			f.mistake(root, fmt.Sprintf(" belongs on a type that is declared with this generic type, such as "+
				"type Name %s[Type]", obj.Name()))
		case (enabled(root) || root == nil && all) && isObject(obj) && !isGeneric(obj):
			k = f.root(obj, decl)
		default:
			f.stray(obj, decl)
		}
		if k != nil && f.valid(k) {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

func enabled(root *load.Marker) bool { return root != nil && root.Args.Bool("", false) }

// stray reports markers of kinds on another type.
func (f *finder) stray(obj *types.TypeName, decl *load.Decl) {
	remedy := " needs +kubebuilder:object:root=true on the same type; for the spec of a kind, use the //kube: markers"
	if enabled(decl.Get("kubebuilder:object:root")) {
		remedy = fmt.Sprintf(" belongs on a kind: %s does not embed metav1.TypeMeta and metav1.ObjectMeta", obj.Name())
	}
	for _, m := range decl.Markers {
		switch {
		case specOnly(m), m.Name == "kube:conversion", m.Name == "kube:diagram":
			f.mistake(m, " needs //kube:resource on the same type")
		case rootOnly(m) && m.Name != "kubebuilder:object:root":
			f.mistake(m, remedy)
		}
	}
}

// mistake reports a marker that is invalid, or on the wrong type. In packages of other modules, it is a warning.
func (f *finder) mistake(m *load.Marker, msg string) {
	f.program.Mistake(f.pkg, m.Pos, f.program.Markers().Spelling(m.Marker)+msg)
}

// specOnly reports whether a marker describes a kind with //kube:resource.
func specOnly(m *load.Marker) bool {
	switch m.Name {
	case "kube:description", "kube:subresource", "kube:printcolumn", "kube:selectablefield", "kube:metadata",
		"kube:validation":
		return true
	}
	return false
}

// spec reads the markers of a spec struct.
func (f *finder) spec(obj *types.TypeName, decl *load.Decl) *kind.Kind {
	m := decl.Get("kube:resource")
	if _, ok := obj.Type().Underlying().(*types.Struct); !ok {
		f.report(m.Pos, fmt.Sprintf("//kube:resource belongs on a struct, which %s is not", obj.Name()))
		return nil
	}
	if isGeneric(obj) {
		f.mistake(m, fmt.Sprintf(": a generic type can't be a spec: declare a type with it, such as type Name %s[Type]",
			obj.Name()))
		return nil
	}
	a := m.Args
	if text := a.String("deprecated"); text == "true" || text == "false" {
		f.mistake(m, fmt.Sprintf(": deprecated=%s would be the text of a warning: write deprecated alone, "+
			"or deprecated=\"text\"", text))
	}
	k := &kind.Kind{
		Group:      a.String("group"),
		Version:    a.String("version"),
		Name:       a.String("kind"),
		Plural:     a.String("plural"),
		Singular:   a.String("singular"),
		ShortNames: a.Strings("shortName"),
		Categories: a.Strings("categories"),
		Cluster:    a.String("scope") == "Cluster",
		Served:     a.Bool("served", true),
		Deprecated: a.Has("deprecated"),
		Warning:    a.String("deprecated"),
		Package:    f.pkg.Path,
		Pos:        m.Pos,
		Spec:       obj,
	}
	if a.Has("storage") {
		k.Storage = new(a.Bool("storage", true))
	}
	f.names(k)
	for _, m := range decl.Markers {
		f.ours(k, m)
		if rootOnly(m) {
			f.mistake(m, " belongs on a type with +kubebuilder:object:root=true; with //kube:resource, use "+ourName(m))
		}
	}
	if k.Description == "" {
		k.Description = fmt.Sprintf("%s is the Schema for the %s API.", k.Name, k.Plural)
	}
	return k
}

// rootOnly reports whether a marker describes a kind with +kubebuilder:object:root.
func rootOnly(m *load.Marker) bool {
	switch m.Name {
	case "kubebuilder:object:root", "kubebuilder:resource", "kubebuilder:subresource:status",
		"kubebuilder:subresource:scale", "kubebuilder:printcolumn", "kubebuilder:selectablefield", "kubebuilder:metadata",
		"kubebuilder:storageversion", "kubebuilder:unservedversion", "kubebuilder:skipversion",
		"kubebuilder:deprecatedversion":
		return true
	}
	return false
}

// ourName returns the name of the marker with the meaning of a marker of kubebuilder that is for complete types.
func ourName(m *load.Marker) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(m.Name, "kubebuilder:"), ":")
	switch name {
	case "metadata", "printcolumn", "selectablefield", "subresource":
		return "//kube:" + name
	}
	return "its parameters"
}

// ours reads a marker of a type with //kube:resource.
func (f *finder) ours(k *kind.Kind, m *load.Marker) {
	a := m.Args
	switch m.Name {
	case "kube:description":
		k.Description = strings.TrimPrefix(k.Description+"\n"+a.String(""), "\n")
	case "kube:subresource":
		f.subresource(k, m)
	case "kube:printcolumn":
		k.Columns = append(k.Columns, column(m, "jsonPath"))
	case "kube:selectablefield":
		k.Selectable = append(k.Selectable, kind.Path{Path: a.String("jsonPath"), Pos: m.Pos})
	case "kube:metadata":
		f.metadata(&k.Annotations, m, "annotation")
		f.metadata(&k.Labels, m, "label")
	case "kube:validation":
		k.Rules = append(k.Rules, kind.Rule(a))
	case "kube:conversion":
		f.conversion(k, m)
	case "kube:diagram":
		f.diagram(k, m)
	}
}

// diagram reads //kube:diagram.
func (f *finder) diagram(k *kind.Kind, m *load.Marker) {
	file := m.Args.String("file")
	if file == "" || filepath.IsAbs(file) {
		f.report(m.Pos, fmt.Sprintf("//kube:diagram: file=%s must be relative to the folder of this source", file))
		return
	}
	k.Diagrams = append(k.Diagrams, kind.Diagram{File: file, Title: cmp.Or(m.Args.String("title"), "States"), Pos: m.Pos})
}

// column reads a printer column, whose path is in an argument.
func column(m *load.Marker, pathArg string) kind.Column {
	return kind.Column{
		Path:        kind.Path{Path: m.Args.String(pathArg), Pos: m.Pos},
		Name:        m.Args.String("name"),
		Type:        m.Args.String("type"),
		Description: m.Args.String("description"),
		Format:      m.Args.String("format"),
		Priority:    m.Args.Number("priority").String(),
	}
}

func (f *finder) subresource(k *kind.Kind, m *load.Marker) {
	a := m.Args
	switch {
	case a.Has("status") == a.Has("scale"):
		f.report(m.Pos, "//kube:subresource needs either status or scale")
	case a.Has("status") && k.HasStatus, a.Has("scale") && k.Scale != nil:
		f.report(m.Pos, "the subresource is set twice")
	case a.Has("status"):
		k.HasStatus = true
		k.Status = f.statusType(k, m)
	case a.String("specReplicas") == "" || a.String("statusReplicas") == "":
		f.report(m.Pos, "//kube:subresource scale needs specReplicas=… and statusReplicas=…")
	default:
		k.Scale = &kind.Scale{
			SpecReplicas: a.String("specReplicas"), StatusReplicas: a.String("statusReplicas"), LabelSelector: a.String("labelSelector"), Pos: m.Pos,
		}
	}
}

// statusType finds the type of the status: the one that the marker names, or the kind's name with the suffix Status.
func (f *finder) statusType(k *kind.Kind, m *load.Marker) *types.TypeName {
	name := cmp.Or(m.Args.String("status"), k.Name+"Status")
	obj, ok := f.pkg.Types.Scope().Lookup(name).(*types.TypeName)
	if !ok {
		f.report(m.Pos, fmt.Sprintf("%s has no type %s: declare it, or name another with //kube:subresource status=TypeName", f.pkg.Name, name))
		return nil
	}
	if _, ok := obj.Type().Underlying().(*types.Struct); !ok {
		f.report(m.Pos, fmt.Sprintf("the status must be a struct, which %s is not", name))
		return nil
	}
	return obj
}

// metadata adds key=value pairs to the metadata of the CRD.
func (f *finder) metadata(into *map[string]string, m *load.Marker, arg string) {
	for _, pair := range m.Args.Strings(arg) {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			f.report(m.Pos, fmt.Sprintf("%s %q must be of the form key=value", arg, pair))
			continue
		}
		if *into == nil {
			*into = map[string]string{}
		}
		(*into)[key] = value
	}
}

// root reads the markers of a complete type.
func (f *finder) root(obj *types.TypeName, decl *load.Decl) *kind.Kind {
	if decl.Has("kubebuilder:skipversion") {
		return nil
	}
	group := f.program.PackageMarker(f.pkg, "groupName")
	if group == nil {
		f.report(decl.Pos, fmt.Sprintf("%s: the package has no +groupName=… above its package clause", obj.Name()))
		return nil
	}
	k := &kind.Kind{
		Group:       group.Args.String(""),
		Version:     f.pkg.Name,
		Name:        obj.Name(),
		Description: decl.Doc,
		Served:      !decl.Has("kubebuilder:unservedversion"),
		Package:     f.pkg.Path,
		Pos:         decl.Pos,
		Root:        obj,
	}
	if v := f.program.PackageMarker(f.pkg, "versionName"); v != nil {
		k.Version = v.Args.String("")
	}
	if decl.Has("kubebuilder:storageversion") {
		k.Storage = new(true)
	}
	for _, m := range decl.Markers {
		f.theirs(k, m)
	}
	f.metadataTags(obj)
	f.names(k)
	return k
}

// theirs reads a marker of a type with +kubebuilder:object:root.
func (f *finder) theirs(k *kind.Kind, m *load.Marker) {
	a := m.Args
	switch m.Name {
	case "kubebuilder:resource":
		k.Plural, k.Singular = cmp.Or(a.String("path"), k.Plural), cmp.Or(a.String("singular"), k.Singular)
		k.ShortNames, k.Categories = a.Strings("shortName"), a.Strings("categories")
		k.Cluster = a.String("scope") == "Cluster"
	case "kubebuilder:subresource:status":
		k.HasStatus = true
	case "kubebuilder:subresource:scale":
		k.Scale = &kind.Scale{
			SpecReplicas: a.String("specpath"), StatusReplicas: a.String("statuspath"), LabelSelector: a.String("selectorpath"), Pos: m.Pos,
		}
	case "kubebuilder:printcolumn":
		k.Columns = append(k.Columns, column(m, "JSONPath"))
	case "kubebuilder:selectablefield":
		k.Selectable = append(k.Selectable, kind.Path{Path: a.String("JSONPath"), Pos: m.Pos})
	case "kubebuilder:metadata":
		f.metadata(&k.Annotations, m, "annotations")
		f.metadata(&k.Labels, m, "labels")
	case "kubebuilder:deprecatedversion":
		k.Deprecated, k.Warning = true, a.String("warning")
	case "kube:conversion":
		f.conversion(k, m)
	case "kube:diagram":
		f.diagram(k, m)
	default:
		if specOnly(m) {
			f.mistake(m, " belongs on a spec with //kube:resource; on a complete type, use its comment and the markers of "+
				"kubebuilder")
		}
	}
}

// metadataTags checks the tags of the embedded metadata types of a complete type.
func (f *finder) metadataTags(obj *types.TypeName) {
	st := obj.Type().Underlying().(*types.Struct) //nolint:forcetypeassert // it is an object
	for _, name := range []string{"TypeMeta", "ObjectMeta"} {
		i := embedded(st, name)
		if problem, remedy := shape.ParseJSON(reflect.StructTag(st.Tag(i))).MetadataTag(name); problem != "" {
			f.program.Mistake(f.pkg, f.program.Decl(st.Field(i)).Pos, fmt.Sprintf("%s.%s: %s: %s", obj.Name(), name, problem, remedy))
		}
	}
}

// isGeneric reports whether a type has type parameters.
func isGeneric(obj *types.TypeName) bool {
	t, ok := obj.Type().(interface{ TypeParams() *types.TypeParamList })
	return ok && t.TypeParams().Len() > 0
}

// isObject reports whether a type is a struct that embeds the two metadata types.
func isObject(obj *types.TypeName) bool {
	st, ok := obj.Type().Underlying().(*types.Struct)
	return ok && embedded(st, "TypeMeta") >= 0 && embedded(st, "ObjectMeta") >= 0
}

// embedded returns the index of the field of a struct that embeds a type of meta/v1, or -1.
func embedded(st *types.Struct, name string) int {
	for i := range st.NumFields() {
		f := st.Field(i)
		named, ok := types.Unalias(f.Type()).(*types.Named)
		if ok && f.Embedded() && named.Obj().Name() == name && named.Obj().Pkg().Path() == "k8s.io/apimachinery/pkg/apis/meta/v1" {
			return i
		}
	}
	return -1
}
