// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"context"
	"path/filepath"

	"github.com/kube-go/sdk/derive/internal/load"
	"github.com/kube-go/sdk/derive/internal/rbac"
)

// Roles returns role.yaml with the roles of the markers +kubebuilder:rbac in the packages. Rules without a role belong
// to [Options.RoleName]. Without markers, it returns no file.
//
// Errors: [*SourceError] for mistakes in the sources.
func Roles(ctx context.Context, patterns []string, o *Options) (*Files, error) {
	return fromMarkers(ctx, patterns, o, "rbac")
}

const rolesFile = "role.yaml"

// roles writes the file with the roles.
func (r *run) roles(dir string) {
	var rules []rbac.Rule
	var packages []string
	defer r.leftovers(dir, rolesFile, func(string) bool { return false })
	r.each("kubebuilder:rbac", func(pkg *load.Package, m *load.Marker) []error {
		rule := rbac.Rule{
			Groups:        m.Args.Strings("groups"),
			Resources:     m.Args.Strings("resources"),
			ResourceNames: m.Args.Strings("resourceNames"),
			URLs:          m.Args.Strings("urls"),
			Verbs:         m.Args.Strings("verbs"),
			Namespace:     m.Args.String("namespace"),
			Role:          m.Args.String("roleName"),
		}
		rules = append(rules, rule)
		packages = append(packages, pkg.Path)
		return rule.Check()
	})
	path := filepath.Join(dir, rolesFile)
	if len(rules) == 0 || !r.complete(path) {
		return
	}
	addDocuments(r, path, packages, rbac.Roles(rules, r.roleName()))
}
