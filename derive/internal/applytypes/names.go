// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package applytypes

import (
	"fmt"
	"go/types"
	"path"
	"regexp"
	"strings"
	"unicode"
)

// suffix is the end of the names of twins.
const suffix = "Apply"

// twinOf returns the name of the twin of a struct type, which will be written.
func (w *writer) twinOf(t *types.Named) string {
	for _, k := range w.Kinds {
		if t.Obj().Pkg() == w.Package && t.Obj().Name() == k.Name {
			return k.Name + suffix
		}
	}
	for _, known := range w.twins {
		if types.Identical(known.of, t) {
			return known.name
		}
	}
	base := w.baseName(t)
	name := base + suffix
	for n := 2; w.names[name] || w.Declared(name); n++ {
		name = fmt.Sprintf("%s%d%s", base, n, suffix)
	}
	w.names[name] = true
	w.twins = append(w.twins, twin{t, name})
	return name
}

// baseName returns the name of a type's twin without the suffix: the package for types of other packages, the name, and
// the type arguments, such as CoreV1PodSpec.
func (w *writer) baseName(t types.Type) string {
	switch t := pointed(t).(type) {
	case *types.Named:
		parts := []string{t.Obj().Name()}
		if t.Obj().Pkg() != nil && t.Obj().Pkg() != w.Package {
			parts = []string{packageName(t.Obj().Pkg()), upperFirst(t.Obj().Name())}
		}
		for arg := range t.TypeArgs().Types() {
			parts = append(parts, upperFirst(w.baseName(arg)))
		}
		return strings.Join(parts, "")
	case *types.Basic:
		return t.Name()
	case *types.Slice:
		return w.baseName(t.Elem()) + "List"
	case *types.Array:
		return fmt.Sprintf("%s%d", w.baseName(t.Elem()), t.Len())
	case *types.Map:
		return w.baseName(t.Elem()) + "Map"
	}
	return "Value"
}

// version matches package names that are only a version.
var version = regexp.MustCompile(`^v[0-9]+((alpha|beta)[0-9]+)?$`)

// packageName returns a package as a part of a name, such as CoreV1 for k8s.io/api/core/v1.
func packageName(p *types.Package) string {
	name := p.Name()
	if version.MatchString(name) {
		name = path.Base(path.Dir(p.Path())) + "-" + name
	}
	var b strings.Builder
	for part := range strings.FieldsFuncSeq(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		b.WriteString(upperFirst(part))
	}
	return b.String()
}

func upperFirst(s string) string {
	runes := []rune(s)
	if len(runes) > 0 {
		runes[0] = unicode.ToUpper(runes[0])
	}
	return string(runes)
}
