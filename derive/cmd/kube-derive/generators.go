// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/kube-go/sdk/derive/generate"
)

// generator is a command that generates files from the sources.
type generator struct {
	name  string
	short string
	long  string
	out   string // the default of -out, unless //kube:output names another; "" if the files are written beside the sources
	what  string // what is written to -out
	none  string // the message if the sources contain nothing to generate; default: noKinds

	// generate is a function of package generate. flags defines the flags that only this command has; it may be nil.
	generate func(ctx context.Context, patterns []string, o *generate.Options) (*generate.Files, error)
	flags    func(flags *flag.FlagSet, o *generate.Options)
}

const noKinds = "no kinds: no type has the marker //kube:resource or +kubebuilder:object:root=true"

// command returns the command.
func (g *generator) command() *command {
	c := &command{name: g.name, args: "[flags] [packages]", short: g.short, long: g.long}
	if g.name == "" {
		c.args = "[command] [flags] [packages]"
	}
	c.prepare = func(flags *flag.FlagSet) action {
		o := &generate.Options{}
		r := &reporter{absent: cmp.Or(g.none, noKinds)}
		if g.out != "" {
			flags.StringVar(&o.Out, "out", "",
				fmt.Sprintf("write %s into the `directory` (default: //kube:output, or %s)", g.what, g.out))
		}
		flags.BoolVar(&r.verify, "verify", false, "write nothing; print the files that are out of date, and exit with 1 if there are any")
		flags.BoolVar(&o.Lenient, "lenient", false, "report mistakes as warnings, and write everything else")
		flags.BoolVar(&r.quiet, "q", false, "print only mistakes, warnings and files that are out of date")
		if g.flags != nil {
			g.flags(flags, o)
		}
		return func(ctx context.Context, patterns []string, std streams) int {
			for _, p := range patterns {
				if msg := ofControllerGen(p); msg != "" {
					return c.misused(std, msg)
				}
			}
			if i := slices.IndexFunc(patterns, func(p string) bool { return !isPattern(p) }); g.name == "" && i >= 0 {
				return c.misused(std, fmt.Sprintf("%q: flags must follow the command; for a package, write ./%[1]s", patterns[i]))
			}
			if len(patterns) == 0 {
				patterns = []string{"."}
			}
			r.std = std
			return r.report(ctx, func(ctx context.Context, loaded func(int)) (*generate.Files, error) {
				o.Loaded = loaded
				return g.generate(ctx, patterns, o)
			})
		}
	}
	return c
}

// everything is the generator without a name.
func everything() *generator {
	return &generator{
		out: "crds", what: "CRDs", generate: generate.Run, flags: sizes,
		long: `
kube-derive turns Go types into Kubernetes kinds. A struct like this

	//kube:resource group=docs.example.com version=v1 kind=Document shortName=doc
	//kube:subresource status
	//kube:printcolumn name=Title jsonPath=.spec.title
	type DocumentSpec struct {
		// Title shown to readers.
		// +kubebuilder:validation:MaxLength=80
		Title string ` + "`json:\"title\"`" + `
	}

gives two files: zz_generated.kube.go beside it has the type Document with its deep copies,
its resource and its CRD, and docs.example.com_documents.yaml is the CRD as YAML. The default
package is that of the current directory, so this line is enough:

	//go:generate go tool kube-derive

Each command generates one kind of file. The commands work in any Go module, and also with
complete types that have the markers of kubebuilder. An argument that is not a command must
look like a package: ., ./..., ./crd or an import path.`,
	}
}

// generators are the commands that write files.
func generators() []*generator {
	return []*generator{
		{
			name: "crd", short: "CRDs as YAML, a file for each kind", out: "crds", what: "CRDs", generate: generate.CRDs, flags: sizes,
			long: `
Writes the CustomResourceDefinition of each kind to <group>_<plural>.yaml, and nothing
else. If the versions of a kind are in several packages, name all of these, since they
belong to one definition.

	kube-derive crd ./api/... --out config/crd`,
		},
		{
			name: "deepcopy", short: "deep copies, like those of controller-gen", generate: generate.DeepCopies,
			none: "no types: nothing has the marker +kubebuilder:object:root=true or +kubebuilder:object:generate=true",
			long: `
Writes zz_generated.deepcopy.go for packages with complete types that have the marker
+kubebuilder:object:root=true or +kubebuilder:object:generate=true.

	kube-derive deepcopy ./api/...`,
		},
		{
			name: "apply", short: "types for server-side applies of single fields", generate: generate.Apply,
			long: `
Writes zz_generated.apply.go beside the kinds. For each kind, and for each struct that it
uses, the file has a struct whose fields are all optional. An apply of it sends the fields
that are set, even to zero, and takes ownership of no others. For a package with the marker

	// +kubebuilder:ac:generate=true

kube-derive without a command also writes this file.

	kube-derive apply ./api/...`,
		},
		{
			name: "rbac", short: "roles from +kubebuilder:rbac", out: filepath.Join("config", "rbac"), what: "role.yaml", generate: generate.Roles,
			none: "no rules: no comment has the marker +kubebuilder:rbac",
			flags: func(flags *flag.FlagSet, o *generate.Options) {
				flags.StringVar(&o.RoleName, "role-name", "", "the `name` of the role for rules that name none (default manager-role)")
			},
			long: `
Writes the roles of the markers in the packages, which may be at any place:

	// +kubebuilder:rbac:groups=docs.example.com,resources=documents,verbs=get;list;watch

	kube-derive rbac ./... --out config/rbac`,
		},
		{
			name: "webhook", short: "webhook configurations from +kubebuilder:webhook", out: filepath.Join("config", "webhook"), what: "manifests.yaml",
			generate: generate.Webhooks, none: "no webhooks: no comment has the marker +kubebuilder:webhook",
			long: `
Writes the configurations of the webhooks that markers in the packages describe. The markers
may be at any place.

	kube-derive webhook ./... --out config/webhook`,
		},
		docs(),
		{
			name: "schema", short: "JSON Schema files for editors and checkers of manifests", out: "schemas", what: "JSON Schemas", generate: generate.Schemas,
			long: `
Writes a JSON Schema for each version of a kind to <group>/<kind>_<version>.json. kubeconform
and the catalogs of yaml-language-server expect it there.

	kube-derive schema ./api/... --out schemas
	kubeconform -schema-location default \
		-schema-location 'schemas/{{.Group}}/{{.ResourceKind}}_{{.ResourceAPIVersion}}.json' manifests`,
		},
		{
			name: "sample", short: "objects to start from, as YAML", out: "samples", what: "samples", generate: generate.Samples,
			long: `
Writes two objects that servers accept for each served version of a kind. The smallest one
is in <group>_<version>_<kind>.yaml. The one in <group>_<version>_<kind>_full.yaml has all
fields, with their descriptions as comments. Copy a sample before you edit it: a run overwrites
the files.

	kube-derive sample ./api/... --out config/samples`,
		},
	}
}

// sizes are the flags about the size of CRDs.
func sizes(flags *flag.FlagSet, o *generate.Options) {
	flags.Func("max-description", "shorten descriptions to this number of `bytes`; a negative number omits them", func(s string) error {
		n, err := strconv.Atoi(s)
		switch {
		case err != nil:
			return errors.New("must be an integer")
		case n == 0:
			return errors.New("write -1 to omit descriptions, or no flag to keep all of them")
		}
		o.MaxDescriptionBytes = n
		return nil
	})
	flags.IntVar(&o.MaxBytes, "max-size", 0, "shorten descriptions, the innermost first, until a CRD has at most this number of `bytes`")
}

// docs returns the generator of the documentation, which has two formats.
func docs() *generator {
	format := "markdown"
	return &generator{
		name: "docs", short: "reference documentation, as Markdown or HTML", out: filepath.Join("docs", "api"), what: "pages",
		flags: func(flags *flag.FlagSet, _ *generate.Options) {
			flags.Func("format", "`markdown` or html (default markdown)", func(s string) error {
				if s != "markdown" && s != "html" {
					return errors.New("must be markdown or html")
				}
				format = s
				return nil
			})
		},
		generate: func(ctx context.Context, patterns []string, o *generate.Options) (*generate.Files, error) {
			if format == "html" {
				return generate.HTML(ctx, patterns, o)
			}
			return generate.Markdown(ctx, patterns, o)
		},
		long: `
Writes a page for each version of a group. It describes the kinds, the types that they use,
and the rules that a server checks for each field. It also has the diagrams of //kube:diagram.

	kube-derive docs ./api/... --out docs/api
	kube-derive docs ./api/... --out public --format html`,
	}
}
