// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package scaffold

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"go/format"
	"path"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kube-go/sdk/derive/internal/kind"
)

// Kind is what is particular to a kind that is added to a project.
type Kind struct {
	Name    string // such as Order
	Group   string // "" for that of the other kinds
	Version string // "" for that of the other kinds of the group
	Cluster bool   // its objects have no namespace

	plural string // "" for the plural of the name
}

// check reports what is wrong with the names of a kind. Empty ones are not checked.
func (k *Kind) check() error {
	if err := checkKind(k.Name); err != nil {
		return err
	}
	if k.Group != "" {
		if err := checkGroup(k.Group); err != nil {
			return err
		}
	}
	if k.Version != "" {
		return checkVersion(k.Version)
	}
	return nil
}

func checkKind(name string) error {
	switch {
	case !kindName.MatchString(name):
		return fmt.Errorf("kind %q must begin with a capital letter and go on with letters and digits, such as Order",
			name)
	case len(name) > longestKind:
		return fmt.Errorf("kind %q has %d letters; the names that are made of it leave room for %d",
			name, len(name), longestKind)
	}
	return nil
}

func checkGroup(group string) error {
	if !strings.Contains(group, ".") {
		return fmt.Errorf("group %q must have a dot in it, such as shop.example.com: set it with -group", group)
	}
	if msgs := validation.IsDNS1123Subdomain(group); len(msgs) > 0 {
		return fmt.Errorf("group %q: %s: set it with -group", group, strings.Join(msgs, "; "))
	}
	return nil
}

// versionName is the form of versions that Kubernetes orders by age.
var versionName = regexp.MustCompile(`^v[1-9][0-9]*((alpha|beta)[1-9][0-9]*)?$`)

func isVersionName(s string) bool { return versionName.MatchString(s) }

func checkVersion(version string) error {
	if !isVersionName(version) {
		return fmt.Errorf("version %q is not a version: use one such as v2, v1beta1 or v1alpha1", version)
	}
	return nil
}

// place is where the package of a kind is.
type place struct {
	dir   string
	alias string // in files that import it
	isNew bool
}

// controllers is the file that lists the controllers of a project.
const (
	controllers     = "internal/controller/controllers.go"
	controllerTests = "internal/controller/controllers_test.go"
	controllerDir   = "internal/controller"
	endToEnd        = "test/e2e/e2e_test.go"
)

// kindFiles returns the paths of the templates of a kind.
func kindFiles() []string {
	return []string{
		"api/v1/widget_types.go", "config/samples/widget.yaml", "internal/controller/widget.go",
		"internal/controller/widget_test.go", "test/e2e/widget_test.go",
	}
}

// AddKind adds a kind with its controller, tests and sample. It completes k.
func (t *Tree) AddKind(k *Kind) error {
	if err := k.check(); err != nil {
		return err
	}
	return t.atomically(func() error { return t.addKind(k) })
}

func (t *Tree) addKind(k *Kind) error {
	kinds, err := t.kinds()
	if err != nil {
		return err
	}
	if err := complete(k, kinds); err != nil {
		return err
	}
	at, err := t.placeOf(k.Group, k.Version, kinds)
	if err != nil {
		return err
	}
	if err := t.checkDeclarations(at, k); err != nil {
		return err
	}
	e, err := t.expand(k, at)
	if err != nil {
		return err
	}
	if err := t.create(e...); err != nil {
		return err
	}
	alias, err := t.importIn(controllers, at)
	if err != nil {
		return err
	}
	if err := t.appendCall(controllers, "Add", "add"+k.Name, "m", "c", "cache"); err != nil {
		return err
	}
	return t.appendElement(controllers, "definitions", "kube.CRD["+alias+"."+k.Name+"]")
}

// importIn makes a file import the package of a kind.
func (t *Tree) importIn(name string, at place) (alias string, err error) {
	if t.files[name] == nil {
		return "", &EditError{name, "the file does not exist", fmt.Sprintf("\t%s %q", at.alias, t.module+"/"+at.dir)}
	}
	return t.addImport(name, at.alias, t.module+"/"+at.dir)
}

// complete fills in what is empty.
func complete(k *Kind, kinds []kindOf) error {
	var groups, versions []string
	for _, other := range kinds {
		if strings.EqualFold(other.name, k.Name) && (k.Group == "" || k.Group == other.group) {
			return fmt.Errorf("kind %s is in %s already: choose another name, or add a version with "+
				"kube-derive add version %[1]s VERSION", other.name, other.path)
		}
		if !slices.Contains(groups, other.group) {
			groups = append(groups, other.group)
		}
	}
	switch {
	case k.Group != "":
	case len(groups) == 1:
		k.Group = groups[0]
	case len(groups) == 0:
		return errors.New("the project has no kind marked //kube:resource, so it has no group: set one with -group")
	default:
		return fmt.Errorf("the project has the groups %s: choose one with -group", strings.Join(groups, ", "))
	}
	for _, other := range kinds {
		if other.group != k.Group {
			continue
		}
		if plural := kind.Pluralize(k.Name); plural == other.plural {
			return fmt.Errorf("kind %s has the plural %s, as %s in %s has: choose another name",
				k.Name, plural, other.name, other.path)
		}
		if !slices.Contains(versions, other.version) {
			versions = append(versions, other.version)
		}
	}
	switch {
	case k.Version != "":
	case len(versions) == 1:
		k.Version = versions[0]
	case len(versions) == 0:
		k.Version = "v1"
	default:
		return fmt.Errorf("group %s has the versions %s: choose one with -version",
			k.Group, strings.Join(versions, ", "))
	}
	return nil
}

// placeOf returns the package of a version of a group, which may not exist.
func (t *Tree) placeOf(group, version string, kinds []kindOf) (place, error) {
	at := place{dir: "api/" + version, alias: version}
	label, _, _ := strings.Cut(group, ".")
	label = strings.ReplaceAll(label, "-", "")
	own := false // other versions of the group are in api
	for _, k := range kinds {
		if k.group != group {
			continue
		}
		if k.version == version {
			at.dir, own = k.dir, true
			break
		}
		if path.Base(k.dir) == k.version {
			at.dir, own = path.Dir(k.dir)+"/"+version, true
		}
	}
	if !own && len(kinds) > 0 {
		at.dir = "api/" + label + "/" + version
	}
	if parent := path.Base(path.Dir(at.dir)); parent != "api" {
		at.alias = strings.ReplaceAll(parent, "-", "") + version
	}
	if at.alias == "metav1" || at.alias == "corev1" || at.alias[0] >= '0' && at.alias[0] <= '9' {
		at.alias = "api" + at.alias
	}
	for _, k := range kinds {
		if k.dir == at.dir && (k.group != group || k.version != version) {
			return at, fmt.Errorf("%s is version %s of the group %s, and can't have a kind of %s: set -group=%[3]s and "+
				"-version=%[2]s, or move the package to another folder", at.dir, k.version, k.group, group+"/"+version)
		}
	}
	files := t.goFiles(at.dir)
	at.isNew = len(files) == 0
	for _, name := range files {
		s, err := t.parse(name)
		if err != nil {
			return at, err
		}
		if s.file.Name.Name != version {
			return at, fmt.Errorf("%s is package %s, and a new kind needs package %s: rename it, or choose another "+
				"version with -version", at.dir, s.file.Name.Name, version)
		}
	}
	return at, nil
}

// checkDeclarations reports what would be declared twice, and what the new files need.
func (t *Tree) checkDeclarations(at place, k *Kind) error {
	singular := strings.ToLower(k.Name)
	for dir, list := range map[string][]string{
		at.dir: {k.Name, k.Name + "Spec", k.Name + "Status", "New" + k.Name, k.Name + "Ready"},
		controllerDir: {
			"add" + k.Name, singular + "Reconciler", singular + "Finalizer", singular + "Status",
			"set" + k.Name + "ConfigMap",
		},
	} {
		for _, name := range list {
			if file, err := t.declares(dir, name); err != nil {
				return err
			} else if file != "" {
				return fmt.Errorf("%s declares %s, which the kind %s needs: rename it, or choose another name",
					file, name, k.Name)
			}
		}
	}
	file, err := t.declares(controllerDir, "FieldManager")
	if err == nil && file == "" {
		err = &EditError{
			controllers, "package controller has no constant FieldManager",
			fmt.Sprintf("const FieldManager = %q", path.Base(t.module)+"-controller"),
		}
	}
	return err
}

// expand returns the files of a kind.
func (t *Tree) expand(k *Kind, at place) ([]File, error) {
	list := kindFiles()
	if at.isNew {
		list = append(list, "api/v1/doc.go")
	}
	if test := t.files[endToEnd]; !bytes.Contains(test, []byte("\nfunc create[")) ||
		!bytes.Contains(test, []byte("\nfunc start(t *testing.T) (context.Context, *kube.Client, string)")) {
		// The test of the kind calls them.
		list = slices.DeleteFunc(list, func(name string) bool { return path.Dir(name) == "test/e2e" })
	}
	if test := t.files[controllerTests]; !bytes.Contains(test, []byte("\nconst user = ")) ||
		!bytes.Contains(test, []byte("\nfunc manifests() []string")) {
		// The test of the controller uses them.
		list = slices.DeleteFunc(list, func(name string) bool { return name == "internal/controller/widget_test.go" })
	}
	var files []File
	for _, name := range list {
		f, err := t.template(k, at, name)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

// template returns the file that a template of projects becomes for a kind.
func (t *Tree) template(k *Kind, at place, name string) (File, error) {
	text, err := templates.ReadFile(root + "/" + name)
	if err != nil {
		return File{}, err
	}
	return k.file(t.module, at, name, string(text))
}

// file returns the file that a template becomes for a kind. More pairs are replaced, too.
func (k *Kind) file(module string, at place, name, text string, more ...string) (File, error) {
	isGo := path.Ext(name) == ".go"
	if k.Cluster {
		text = clusterScoped().Replace(text)
	}
	pairs := k.names(module, more...)
	f := File{Path: strings.NewReplacer(append([]string{"api/v1/", at.dir + "/"}, pairs...)...).Replace(name)}
	if isGo {
		pairs = append(k.inGo(module, at), pairs...)
	}
	pairs = append([]string{"group.example.com/v1\n", k.Group + "/" + k.Version + "\n"}, pairs...)
	f.Content = []byte(strings.NewReplacer(pairs...).Replace(text))
	if isGo { // the alignment depends on the names
		var err error
		if f.Content, err = format.Source(f.Content); err != nil {
			return f, fmt.Errorf("%s: %w", f.Path, err)
		}
	}
	return f, nil
}

// names returns what the names in the templates are replaced with.
func (k *Kind) names(module string, more ...string) []string {
	return append(more,
		"example.com/kube-project", module,
		"group.example.com", k.Group,
		"widgets", cmp.Or(k.plural, kind.Pluralize(k.Name)),
		"widget", strings.ToLower(k.Name),
		"Widget", k.Name,
	)
}

// inGo returns what the package of the types is replaced with in Go files.
func (k *Kind) inGo(module string, at place) []string {
	pairs := []string{
		`v1 "example.com/kube-project/api/v1"`, fmt.Sprintf("%s %q", at.alias, module+"/"+at.dir),
		"package v1\n", "package " + k.Version + "\n",
		"Package v1 is version v1 of", fmt.Sprintf("Package %s is version %[1]s of", k.Version),
		" version=v1 ", " version=" + k.Version + " ",
	}
	for _, before := range []string{" ", "\t", "[", "(", "{", "*", "&"} {
		pairs = append(pairs, before+"v1.", before+at.alias+".")
	}
	return pairs
}

// clusterScoped changes the templates for a kind whose objects have no namespace: their ConfigMaps are in one.
func clusterScoped() *strings.Replacer {
	return strings.NewReplacer(
		" plural=widgets\n", " plural=widgets scope=Cluster\n",
		"message that is published in a ConfigMap.", "message that is published in a ConfigMap of the namespace default.",
		`NewWidget("prod", "hello", `, `NewWidget("hello", `,
		`NewWidget("", "hello", `, `NewWidget("e2e-widget", `,
		"r.configMaps.In(obj.Namespace)", "r.configMaps.In(widgetNamespace)",
		"metav1.ObjectMeta{Namespace: obj.Namespace, Name: obj.Name}", "metav1.ObjectMeta{Name: obj.Name}",
		"// widgetFinalizer keeps", "// widgetNamespace is the namespace of the ConfigMaps.\n"+
			"const widgetNamespace = metav1.NamespaceDefault\n\n// widgetFinalizer keeps",
		"  name: widget-sample\n  namespace: default\n", "  name: widget-sample\n",
		"ctx, c, ns := start(t)", "ctx, c, _ := start(t)",
		"kube.Namespaced[v1.Widget](c, ns)", "kube.ClusterWide[v1.Widget](c)",
		`kube.Namespaced[v1.Widget](c, "prod")`, "kube.ClusterWide[v1.Widget](c)",
		`kube.Namespaced[corev1.ConfigMap](c, "prod")`, "kube.Namespaced[corev1.ConfigMap](c, widgetNamespace)",
		"kube.Namespaced[corev1.ConfigMap](c, ns)", "kube.Namespaced[corev1.ConfigMap](c, metav1.NamespaceDefault)",
		`objects, "hello"`, `objects, "e2e-widget"`,
		`(ctx, "hello"`, `(ctx, "e2e-widget"`,
		`(ctx, "widget-hello"`, `(ctx, "widget-e2e-widget"`,
	)
}
