// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package scaffold

import (
	"bytes"
	"fmt"
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/kube-go/sdk/derive/internal/marker"
)

// find returns the versions of a kind. The group may be empty if only one has such a kind.
func (t *Tree) find(name, group string) (versions, all []kindOf, err error) {
	all, err = t.kinds()
	if err != nil {
		return nil, nil, err
	}
	for _, k := range all {
		if k.name == name && (group == "" || k.group == group) {
			versions = append(versions, k)
		}
	}
	switch {
	case len(versions) == 0 && group != "":
		return nil, nil, fmt.Errorf("the project has no kind %s of the group %s marked //kube:resource; it has %s",
			name, group, names(all))
	case len(versions) == 0:
		return nil, nil, fmt.Errorf("the project has no kind %s marked //kube:resource; it has %s", name, names(all))
	}
	for _, k := range versions {
		if k.group != versions[0].group {
			return nil, nil, fmt.Errorf("the groups %s and %s have a kind %s: choose one with -group",
				versions[0].group, k.group, name)
		}
	}
	return versions, all, nil
}

// stored returns the version that the API server stores.
func stored(versions []kindOf) (kindOf, error) {
	if len(versions) == 1 {
		return versions[0], nil
	}
	if i := slices.IndexFunc(versions, func(k kindOf) bool { return k.stored }); i >= 0 {
		return versions[i], nil
	}
	return kindOf{}, fmt.Errorf("no version of %s is marked storage=true: add it to the //kube:resource marker of the "+
		"stored version, such as in %s", versions[0].name, versions[0].path)
}

// hub returns the version that the others convert to: that of the converter of the kind, or the stored version for a
// kind without a converter.
func (t *Tree) hub(versions []kindOf) (kindOf, error) {
	base, err := stored(versions)
	if err != nil {
		return kindOf{}, err
	}
	file := converterFile(base)
	if t.files[file] == nil {
		return base, nil
	}
	s, err := t.parse(file)
	if err != nil {
		return kindOf{}, err
	}
	imported := s.spokesOf(base.name)
	if imported == "" {
		return kindOf{}, &EditError{
			file, "it has no list of the type []conversion.Spoke[…], which names the hub of the conversions",
			fmt.Sprintf("\treturn conversion.NewConverter([]conversion.Spoke[%s.%s]{}, nil)", base.pkg, base.name),
		}
	}
	if i := slices.IndexFunc(versions, func(k kindOf) bool { return t.module+"/"+k.dir == imported }); i >= 0 {
		return versions[i], nil
	}
	return kindOf{}, fmt.Errorf("%s converts to the version in %s, which is none of kind %s of the group %s: change "+
		"the type of its spokes, or rename the file if it is of another kind", file, imported, base.name, base.group)
}

// converterFile returns the path of the file with the converter of a kind.
func converterFile(k kindOf) string {
	return webhookDir + "/" + strings.ToLower(k.name) + "_conversion.go"
}

// spokesOf returns the path of the package whose version of a kind is the hub of spokes; "" for none.
func (s *source) spokesOf(kind string) (imported string) {
	ast.Inspect(s.file, func(n ast.Node) bool {
		index, ok := n.(*ast.IndexExpr)
		if !ok {
			return true
		}
		generic, ok := index.X.(*ast.SelectorExpr)
		hub, isOther := index.Index.(*ast.SelectorExpr)
		if ok && isOther && generic.Sel.Name == "Spoke" && hub.Sel.Name == kind {
			if pkg, ok := hub.X.(*ast.Ident); ok {
				imported = s.imported(pkg.Name)
			}
		}
		return imported == ""
	})
	return imported
}

// AddVersion adds a version to a kind, as a copy of the hub, with functions that convert between the two, a test of
// them, and a conversion webhook. The hub of the first conversions is the stored version, and stays the same when
// another version is stored. The group may be empty if only one has such a kind.
func (t *Tree) AddVersion(name, group, version string) error {
	if err := checkVersion(version); err != nil {
		return err
	}
	return t.atomically(func() error { return t.addVersion(name, group, version) })
}

func (t *Tree) addVersion(name, group, version string) error {
	versions, all, err := t.find(name, group)
	if err != nil {
		return err
	}
	for _, k := range versions {
		if k.version == version {
			return fmt.Errorf("kind %s has the version %s already, in %s: choose another version", name, version, k.path)
		}
	}
	base, err := t.hub(versions)
	if err != nil {
		return err
	}
	at, err := t.placeOf(base.group, version, all)
	if err != nil {
		return err
	}
	if n := slices.IndexFunc(all, func(k kindOf) bool { return k.path == base.path && k != base }); n >= 0 {
		return fmt.Errorf("%s has the kinds %s and %s: move one with its types to another file first",
			base.path, name, all[n].name)
	}
	hub, err := t.placeOf(base.group, base.version, all)
	if err != nil {
		return err
	}
	w := &conversions{tree: t, base: base, hub: hub, at: at, version: version, kinds: map[string]bool{}}
	for _, k := range all {
		w.kinds[k.name] = w.kinds[k.name] || k.dir == base.dir
	}
	if err := w.read(); err != nil {
		return err
	}
	files, err := w.types()
	if err != nil {
		return err
	}
	functions, err := w.functions()
	if err != nil {
		return err
	}
	if files, err = w.withMarkers(files); err != nil {
		return err
	}
	if err := t.create(append(files, functions)...); err != nil {
		return err
	}
	t.copySample(base, version)
	if len(versions) == 1 && !base.stored {
		line := storageArg.ReplaceAllString(base.marker, "") + " storage=true"
		if err := t.replaceLine(base.path, base.marker, line); err != nil {
			return err
		}
	}
	if versions, all, err = t.find(name, base.group); err != nil {
		return err
	}
	return t.addConversion(versions, all)
}

// copySample copies the sample of a version. Its documents of the kind get the new version.
func (t *Tree) copySample(base kindOf, version string) {
	singular := strings.ToLower(base.name)
	text, ok := t.files["config/samples/"+singular+".yaml"]
	old, updated := "apiVersion: "+base.group+"/"+base.version+"\n", "apiVersion: "+base.group+"/"+version+"\n"
	name := "config/samples/" + singular + "_" + version + ".yaml"
	if !ok || t.files[name] != nil || !bytes.Contains(text, []byte(old)) {
		return
	}
	ofKind := regexp.MustCompile(`(?m)^kind: ` + base.name + `\b`)
	docs := bytes.SplitAfter(text, []byte("\n---\n"))
	for i, doc := range docs {
		if ofKind.Match(doc) {
			docs[i] = bytes.Replace(doc, []byte(old), []byte(updated), 1)
		}
	}
	t.files[name] = bytes.Join(docs, nil)
}

// conversions writes the types of a version, and the functions that convert them.
type conversions struct {
	tree    *Tree
	base    kindOf
	hub     place // of the package of base
	at      place // of the package of the version
	version string

	sources []*source                // of the package of base
	specs   map[string]*ast.TypeSpec // of this package
	files   map[string]*source       // by the names that they declare in this package
	kinds   map[string]bool          // of this package, by the names of their types, which are generated

	queue  []string // types that need functions
	queued map[string]bool
}

// read finds what the package declares.
func (w *conversions) read() error {
	w.specs, w.files = map[string]*ast.TypeSpec{}, map[string]*source{}
	for _, name := range w.tree.goFiles(w.base.dir) {
		s, err := w.tree.parse(name)
		if err != nil {
			return err
		}
		w.sources = append(w.sources, s)
		for _, decl := range s.file.Decls {
			for _, name := range declaredNames(decl) {
				w.files[name] = s
			}
			if g, ok := decl.(*ast.GenDecl); ok {
				for _, spec := range g.Specs {
					if spec, ok := spec.(*ast.TypeSpec); ok {
						w.specs[spec.Name.Name] = spec
					}
				}
			}
		}
	}
	if w.base.status != "" && w.specs[w.base.status] == nil {
		return fmt.Errorf("%s has no type %s, which //kube:subresource status means", w.base.dir, w.base.status)
	}
	return nil
}

var packageClause = regexp.MustCompile(`(?m)^package \w+`)

// use is a name that copied files use, and the file that declares it.
type use struct {
	name string
	in   *source
}

// types returns copies of the file with the kind, and of the files that declare what it uses and the new package lacks:
// constants, variables, functions and types, with their methods.
func (w *conversions) types() ([]File, error) {
	var files []File
	seen := map[string]bool{}
	queue := []use{{w.base.spec, w.files[w.base.spec]}}
	for len(queue) > 0 {
		name, s := queue[0].name, queue[0].in
		queue = queue[1:]
		if seen[s.path] {
			continue
		}
		seen[s.path] = true
		if s.path != w.base.path && bytes.Contains(s.text, []byte("//kube:resource ")) {
			return nil, fmt.Errorf("%s has another kind, and declares %s, which %s uses: move %[2]s to a file of its own "+
				"first", s.path, name, w.base.name)
		}
		f, err := w.copyOf(s)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
		more, err := w.usedBy(s)
		if err != nil {
			return nil, err
		}
		queue = append(append(queue, more...), w.methodsOf(s)...)
	}
	return files, nil
}

// methodsOf returns the methods in other files of the types that a file declares.
func (w *conversions) methodsOf(s *source) (list []use) {
	for _, other := range w.sources {
		for _, decl := range other.file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Recv == nil || other == s {
				continue
			}
			if of := embedded(f.Recv.List[0].Type).Name; w.files[of] == s {
				list = append(list, use{of + "." + f.Name.Name, other})
			}
		}
	}
	return list
}

// withMarkers adds the markers of the package to its copy: those of files without a copy become markers of doc.go. If
// the new package exists, it reports markers of only one of the packages that change how the copied types are read.
func (w *conversions) withMarkers(files []File) ([]File, error) {
	set := marker.NewSet()
	all, err := w.tree.markersOf(w.base.dir, set)
	if err != nil {
		return nil, err
	}
	if !w.at.isNew {
		there, err := w.tree.markersOf(w.at.dir, set)
		if err != nil {
			return nil, err
		}
		return files, sameMarkers(w.base.dir, all, w.at.dir, there)
	}
	i := slices.IndexFunc(files, func(f File) bool { return path.Base(f.Path) == "doc.go" })
	if i < 0 {
		doc, err := w.tree.template(&Kind{Name: w.base.name, Group: w.base.group, Version: w.version}, w.at, "api/v1/doc.go")
		if err != nil {
			return nil, err
		}
		i, files = len(files), append(files, doc)
	}
	var missing strings.Builder
	for _, line := range all {
		if !slices.ContainsFunc(files, func(f File) bool { return bytes.Contains(f.Content, []byte(line+"\n")) }) {
			missing.WriteString("\n" + line)
		}
	}
	if missing.Len() > 0 {
		at := packageClause.FindIndex(files[i].Content)[0]
		text := string(files[i].Content[:at]) + "//" + missing.String() + "\n" + string(files[i].Content[at:])
		files[i].Content = []byte(text)
	}
	return files, nil
}

// markersOf returns the lines with the markers of a package.
func (t *Tree) markersOf(dir string, set *marker.Set) (lines []string, err error) {
	for _, name := range t.goFiles(dir) {
		s, err := t.parse(name)
		if err != nil {
			return nil, err
		}
		for _, line := range s.packageMarkers(set) {
			if !slices.Contains(lines, line) {
				lines = append(lines, line)
			}
		}
	}
	return lines, nil
}

// sameMarkers reports a marker of only one of two packages that makes fields optional or required.
func sameMarkers(dir string, markers []string, other string, others []string) error {
	text := func(line string) string { return strings.Trim(line, "/ ") }
	for _, p := range []struct {
		dir, other      string
		markers, others []string
	}{{dir, other, markers, others}, {other, dir, others, markers}} {
		for _, line := range p.markers {
			same := func(other string) bool { return text(other) == text(line) }
			if strings.HasPrefix(text(line), "+kubebuilder:validation:") && !slices.ContainsFunc(p.others, same) {
				return fmt.Errorf("%s has the marker %s and %s does not, so the copied types would have other required "+
					"fields: use the same markers in both packages first", p.dir, text(line), p.other)
			}
		}
	}
	return nil
}

// copyOf returns the copy of a file.
func (w *conversions) copyOf(s *source) (File, error) {
	for _, decl := range s.file.Decls {
		for _, name := range declaredNames(decl) {
			if other, err := w.tree.declares(w.at.dir, name); err != nil {
				return File{}, err
			} else if other != "" {
				return File{}, fmt.Errorf("%s declares %s, which a copy of %s would declare again: rename one of them",
					other, name, s.path)
			}
		}
	}
	var lines []string
	for line := range strings.Lines(string(s.text)) {
		switch text := strings.TrimSpace(line); {
		case text == w.base.marker:
			line = ownArgs.ReplaceAllString(storageArg.ReplaceAllString(line, ""), "")
			line = versionArg.ReplaceAllString(line, " version="+w.version)
		case strings.HasPrefix(text, "//kube:conversion"): // it belongs to all versions
			continue
		}
		lines = append(lines, line)
	}
	text := packageClause.ReplaceAllString(strings.Join(lines, ""), "package "+w.version)
	return File{w.at.dir + "/" + path.Base(s.path), []byte(text)}, nil
}

var (
	versionArg = regexp.MustCompile(`[ \t]+version=\S+`)
	storageArg = regexp.MustCompile(`[ \t]+storage=\S+`)

	// ownArgs are what the marker of a version may say of this version only. A warning is quoted.
	ownArgs = regexp.MustCompile(`[ \t]+(served|deprecated)(=("([^"\\]|\\.)*"|` + "`[^`]*`" + `|\S+)|\b)`)
)

// usedBy returns what a file uses, other files of the package declare, and the new package does not have.
func (w *conversions) usedBy(s *source) (list []use, err error) {
	var function *ast.FuncDecl
	var visit func(ast.Node) bool
	visit = func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr: // its name is of another package, or of a type
			ast.Inspect(n.X, visit)
			return false
		case *ast.Field: // its names are its own
			ast.Inspect(n.Type, visit)
			return false
		case *ast.Ident:
			other := w.files[n.Name]
			isKind := function != nil && w.kinds[n.Name] && n.Name != w.base.name
			if err != nil || other == s || other == nil && !isKind {
				return err == nil
			}
			var there string
			switch there, err = w.tree.declares(w.at.dir, n.Name); {
			case err != nil || there != "":
			case other != nil:
				list = append(list, use{n.Name, other})
			default:
				err = fmt.Errorf("%s: the function %s uses the kind %s, which %s does not have, and a copy of the file does "+
					"not compile there: move the function to another file first", s.path, function.Name.Name, n.Name, w.at.dir)
			}
		}
		return err == nil
	}
	for _, decl := range s.file.Decls {
		function, _ = decl.(*ast.FuncDecl)
		ast.Inspect(decl, visit)
	}
	return list, err
}

func exported(s string) string   { return strings.ToUpper(s[:1]) + s[1:] }
func unexported(s string) string { return strings.ToLower(s[:1]) + s[1:] }
