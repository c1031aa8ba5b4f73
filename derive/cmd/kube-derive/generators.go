// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/kube-go/sdk/derive/generate"
)

// generator is a command that writes files which follow from the sources.
type generator struct {
	name  string
	short string
	long  string
	out   string // the default of -out, unless //kube:output names another; "" when the files stand beside the sources
	what  string // what -out is for

	// generate is a function of package generate; flags, which may be nil, defines what only this one takes.
	generate func(ctx context.Context, patterns []string, o *generate.Options) (*generate.Files, error)
	flags    func(flags *flag.FlagSet, o *generate.Options)
}

// command makes a command of the generator.
func (g *generator) command() *command {
	c := &command{name: g.name, args: "[flags] [packages]", short: g.short, long: g.long}
	if g.name == "" {
		c.args = "[command] [flags] [packages]"
	}
	c.prepare = func(flags *flag.FlagSet) action {
		o := &generate.Options{}
		r := &reporter{}
		if g.out != "" {
			flags.StringVar(&o.Out, "out", "", fmt.Sprintf("write %s into the `directory` (default %s)", g.what, g.out))
		}
		flags.BoolVar(&r.verify, "verify", false, "write nothing; exit with 1 and name the files that are out of date")
		flags.BoolVar(&o.Lenient, "lenient", false, "report mistakes as warnings, and write what can be made without them")
		flags.BoolVar(&r.quiet, "q", false, "name mistakes and stale files only")
		if g.flags != nil {
			g.flags(flags, o)
		}
		return func(ctx context.Context, patterns []string, std streams) int {
			if i := slices.IndexFunc(patterns, func(p string) bool { return !isPattern(p) }); g.name == "" && i >= 0 {
				return c.misused(std, fmt.Sprintf("%q: flags stand behind the command; for a package, write ./%[1]s", patterns[i]))
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

// everything is what is done when no command is named.
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

becomes, in zz_generated.kube.go beside it, the type Document with its deep copies, its
descriptor and its CRD as bytes; and docs.example.com_documents.yaml, the CRD as YAML.
Packages default to the one in the current directory, so that this line is enough:

	//go:generate go tool kube-derive

Each command generates one kind of file, for any Go module, also for complete types with
the markers of kubebuilder. An argument that is not a command must look like a package:
., ./..., ./crd or an import path.`,
	}
}

// generators are the commands that write files.
func generators() []*generator {
	return []*generator{
		{
			name: "crd", short: "CRDs as YAML, one a kind", out: "crds", what: "CRDs", generate: generate.CRDs, flags: sizes,
			long: `
Writes the CustomResourceDefinition of each kind to <group>_<plural>.yaml, and nothing
else. Versions of a kind in several packages make one definition, so name all of them.

	kube-derive crd ./api/... --out config/crd`,
		},
		{
			name: "deepcopy", short: "deep copies, as controller-gen writes them", generate: generate.DeepCopies,
			long: `
Writes zz_generated.deepcopy.go for packages whose types are written out in full and
marked +kubebuilder:object:root=true or +kubebuilder:object:generate=true.

	kube-derive deepcopy ./api/...`,
		},
		{
			name: "apply", short: "structs for exact server-side applies", generate: generate.Apply,
			long: `
Writes, for each kind and each struct that it leads to, a struct in which every field is
optional, to zz_generated.apply.go beside the kinds. An apply of it sends what is set,
also when it is zero, and claims nothing else. With the marker

	// +kubebuilder:ac:generate=true

on a package, kube-derive alone writes them too.

	kube-derive apply ./api/...`,
		},
		{
			name: "rbac", short: "roles from +kubebuilder:rbac", out: filepath.Join("config", "rbac"), what: "role.yaml", generate: generate.Roles,
			flags: func(flags *flag.FlagSet, o *generate.Options) {
				flags.StringVar(&o.RoleName, "role-name", "", "give rules that name no role to the one of this `name` (default manager-role)")
			},
			long: `
Writes the roles that markers ask for, wherever in the packages they stand:

	// +kubebuilder:rbac:groups=docs.example.com,resources=documents,verbs=get;list;watch

	kube-derive rbac ./... --out config/rbac`,
		},
		{
			name: "webhook", short: "webhook configurations from +kubebuilder:webhook", out: filepath.Join("config", "webhook"), what: "manifests.yaml",
			generate: generate.Webhooks,
			long: `
Writes the configurations of the webhooks that markers describe, wherever in the packages
they stand.

	kube-derive webhook ./... --out config/webhook`,
		},
		docs(),
		{
			name: "schema", short: "JSON Schema files for editors and checkers of manifests", out: "schemas", what: "JSON Schemas", generate: generate.Schemas,
			long: `
Writes a JSON Schema for each version of a kind to <group>/<kind>_<version>.json, where
kubeconform and the catalogs for yaml-language-server look for it.

	kube-derive schema ./api/... --out schemas
	kubeconform -schema-location default \
		-schema-location 'schemas/{{.Group}}/{{.ResourceKind}}_{{.ResourceAPIVersion}}.json' manifests`,
		},
		{
			name: "sample", short: "objects to start from, as YAML", out: "samples", what: "samples", generate: generate.Samples,
			long: `
Writes two objects for each served version of a kind, which servers accept: the smallest
to <group>_<version>_<kind>.yaml, and one that has all fields, with their descriptions as
comments, to the same with _full.

	kube-derive sample ./api/... --out config/samples`,
		},
	}
}

// sizes are the flags about the size of CRDs.
func sizes(flags *flag.FlagSet, o *generate.Options) {
	flags.IntVar(&o.MaxDescription, "max-description", 0, "shorten descriptions to this number of `bytes`; less than 0 leaves them out")
	flags.IntVar(&o.MaxSize, "max-size", 0, "shorten descriptions, the innermost first, until a CRD has at most this many `bytes`")
}

// docs writes in one of two formats.
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
Writes a page for each version of a group: its kinds, the types that they are made of,
and what a server asks of each field. A page includes the diagrams that //kube:diagram names.

	kube-derive docs ./api/... --out docs/api
	kube-derive docs ./api/... --out public --format html`,
	}
}
