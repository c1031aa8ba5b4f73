// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kube_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// elsewhere lists what the layers export and the facade does not, with the reason: a whole package, or a name of one.
func elsewhere() map[string]string {
	const (
		oneKind   = "the verbs of one kind, which programs that need them import"
		extend    = "for code that adds verbs"
		writeOnly = "named only to implement it or to pass it on, which takes no name"
		build     = "requests are built for those who send them by means of their own"
		files     = "for programs that look into kubeconfigs"
		senders   = "for those who send requests without a client"
		caches    = "for those who keep caches; a controller observes its own writes"
		observe   = "for those who look at how a controller does"
		drive     = "for those who drive a watch themselves"
	)
	return map[string]string{
		"core/wire":                      "for those who write clients, caches and servers",
		"core/admission":                 "for webhooks, which import it",
		"core/conversion":                "for webhooks, which import it",
		"core/conversion/conversiontest": "for tests, which import it",
		"client/webhook":                 "for webhooks, which import it",
		"client/node":                    oneKind,
		"client/csr":                     oneKind,
		"client/service":                 oneKind,
		"client/serviceaccount":          oneKind,
		"client/rollout":                 oneKind,
		"derive/evolution":               "for build tools and tests, which import it",
		"client/middleware":              "a program that chooses layers imports their package",
		"runtime/queue":                  "part of a controller; by itself it is its own import",
		"derive/generate":                "for build tools",
		"derive/validation":              "for tests, which import it: it would be most of a program's weight",

		"core.Describer":        writeOnly,
		"core.InitialEventsEnd": drive,
		"core.ParseObjectRef":   "for flags and files",

		"core/request.Request": build, "core/request.Target": build,
		"core/request.Get": build, "core/request.List": build, "core/request.Watch": build,
		"core/request.Create": build, "core/request.Update": build, "core/request.PatchObject": build,
		"core/request.Apply": build, "core/request.Delete": build, "core/request.DeleteCollection": build,
		"core/request.Evict": build, "core/request.Bind": build,
		"core/request.ExecOptions": build, "core/request.AttachOptions": build, "core/request.PortForwardOptions": build, "core/request.Token": build, "core/request.Log": build,
		"core/request.Exec": build, "core/request.Attach": build, "core/request.PortForward": build,
		"core/request.Proxy": build, "core/request.Raw": build, "core/request.View": build,
		"core/request.ViewObject": build, "core/request.ViewMetadata": build, "core/request.ViewTable": build,
		"core/request.IncludeObject":       "the type of constants that are here",
		"core/request.DeletionPropagation": "the type of constants that are here",
		"core/request.FieldValidation":     "the type of constants that are here",
		"core/request.VersionMatch":        "the type of constants that are here",

		"client.WrapError": extend, "client.Upgraded": extend,
		"client.Write": caches, "client.WithWriteObserver": caches,

		"client/auth.NewPlugin": senders, "client/auth.Plugin": senders,
		"client/auth.NewOIDC": senders, "client/auth.OIDC": senders, "client/auth.OIDCOptions": senders,

		"client/config.InCluster": "LoadConfig finds it",
		"client/config.Read":      files, "client/config.Parse": files, "client/config.Merge": files,
		"client/config.Unknown": files, "client/config.Extension": files,
		"client/config.NamedCluster": files, "client/config.NamedContext": files, "client/config.NamedUser": files,
		"client/config.FieldError":   files,
		"client/config.AuthProvider": files, "client/config.ExecConfig": files, "client/config.EnvVar": files,
		"client/config.ExecV1": files, "client/config.ExecV1Beta1": files,
		"client/config.InteractiveMode": files, "client/config.InteractiveAlways": files,
		"client/config.InteractiveNever": files, "client/config.InteractiveIfAvailable": files,
		"client/config.Impersonation": "the type of a field that is set field by field",

		"runtime/watcher.Events": drive, "runtime/watcher.Event": drive, "runtime/watcher.EventType": drive,
		"runtime/watcher.Init": drive, "runtime/watcher.InitApply": drive, "runtime/watcher.InitDone": drive,
		"runtime/watcher.Apply": drive, "runtime/watcher.Delete": drive, "runtime/watcher.Bookmark": drive,
		"runtime/watcher.Source": drive, "runtime/reflector.Reflector": drive, "runtime/reflector.New": drive,
		"runtime/reflector.Options": drive, "runtime/reflector.Change": drive,

		"runtime/controller.Owned": writeOnly, "runtime/controller.Trigger": writeOnly,
		"runtime/controller.IsTerminal": observe, "runtime/controller.PanicError": observe,
		"runtime/controller.Stats": observe, "runtime/controller.SourceHealth": observe,
		"runtime/events.Type": "the type of constants that are here",

		"core.Definer": writeOnly, "core.UndefinedKindError": "says what to do; nobody branches on it",

		"derive": "makes definitions by reflection, for those who take its weight",
	}
}

// TestReach promises that whatever a layer exports is here too, or that a reason why not is known.
func TestReach(t *testing.T) {
	here := map[string]bool{}
	for _, file := range facade(t) {
		noteUses(t, file, here)
	}
	excused := elsewhere()
	for _, module := range []string{"core", "client", "runtime", "derive"} {
		for pkg, names := range layerNames(t, module) {
			if _, ok := excused[pkg]; ok {
				delete(excused, pkg)
				continue
			}
			for _, name := range names {
				full := pkg + "." + name
				_, ok := excused[full]
				delete(excused, full)
				switch {
				case !ok && !here[full]:
					t.Errorf("%s is exported, but not here: add it to the facade, or to the list with a reason", full)
				case ok && here[full]:
					t.Errorf("%s is here, and in the list of what is not", full)
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(excused)) {
		t.Errorf("%s is in the list, but no layer exports it", name)
	}
}

// noteUses notes what a file names of the layers, such as core/request.Patch.
func noteUses(t *testing.T, file *ast.File, uses map[string]bool) {
	t.Helper()
	folders := map[string]string{}
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		if folder, ok := strings.CutPrefix(imported, "github.com/kube-go/sdk/"); ok {
			folders[path.Base(imported)] = folder
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if pkg, ok := sel.X.(*ast.Ident); ok && folders[pkg.Name] != "" {
				uses[folders[pkg.Name]+"."+sel.Sel.Name] = true
			}
		}
		return true
	})
}

// layerNames returns what each public package of a module exports, by the package's folder.
func layerNames(t *testing.T, module string) map[string][]string {
	t.Helper()
	names := map[string][]string{}
	err := filepath.WalkDir(filepath.Join("..", module), func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{"internal", "testdata", "cmd"}, d.Name()):
			return fs.SkipDir
		case !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go"):
			return nil
		}
		syntax, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		folder := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(file)), "../")
		for _, decl := range syntax.Decls {
			names[folder] = append(names[folder], topLevel(decl)...)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// topLevel returns the exported names that a declaration adds to its package.
func topLevel(decl ast.Decl) []string {
	var idents []*ast.Ident
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		if decl.Recv == nil {
			idents = append(idents, decl.Name)
		}
	case *ast.GenDecl:
		for _, spec := range decl.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				idents = append(idents, spec.Name)
			case *ast.ValueSpec:
				idents = append(idents, spec.Names...)
			}
		}
	}
	var names []string
	for _, id := range idents {
		if id.IsExported() {
			names = append(names, id.Name)
		}
	}
	return names
}
