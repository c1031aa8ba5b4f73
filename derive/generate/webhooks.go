// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/kube-go/sdk/derive/internal/load"
	"github.com/kube-go/sdk/derive/internal/webhook"
)

// Webhooks returns manifests.yaml with the configurations of the webhooks of the markers +kubebuilder:webhook in the
// packages. Without markers, it returns no file.
//
// Errors: [*SourceError] for mistakes in the sources.
func Webhooks(ctx context.Context, patterns []string, o *Options) (*Files, error) {
	return fromMarkers(ctx, patterns, o, "webhooks")
}

const webhooksFile = "manifests.yaml"

// webhooks writes the file with the webhook configurations.
func (r *run) webhooks(dir string) {
	var all []*webhook.Webhook
	var packages []string
	seen := map[string]*load.Marker{}
	defer r.leftovers(dir, webhooksFile, func(string) bool { return false })
	r.each("kubebuilder:webhook", func(pkg *load.Package, m *load.Marker) []error {
		w, errs := webhook.Parse(m.Args)
		key := fmt.Sprint(w.Mutating, w.Name)
		if old := seen[key]; old != nil {
			errs = append(errs, fmt.Errorf("the webhook at %s has the same name %s", r.problems.relative(old.Pos), w.Name))
		}
		seen[key] = m
		all = append(all, w)
		packages = append(packages, pkg.Path)
		return errs
	})
	mutating, validating := r.configNames(all)
	configs := webhook.Configurations(all, mutating, validating)
	path := filepath.Join(dir, webhooksFile)
	if len(configs) == 0 || !r.complete(path) {
		return
	}
	addDocuments(r, path, packages, configs)
}

// configNames returns the names of the configurations.
func (r *run) configNames(all []*webhook.Webhook) (mutating, validating string) {
	seen := map[bool]*load.Marker{}
	r.each("kubebuilder:webhookconfiguration", func(_ *load.Package, m *load.Marker) []error {
		isMutating, kind := m.Args.Bool("mutating", false), "validating"
		name := &validating
		if isMutating {
			name, kind = &mutating, "mutating"
		}
		if old := seen[isMutating]; old != nil {
			return []error{fmt.Errorf("the %s webhooks already have one at %s", kind, r.problems.relative(old.Pos))}
		}
		seen[isMutating] = m
		*name = m.Args.String("name")
		for _, w := range all {
			if w.Mutating == isMutating {
				return nil
			}
		}
		return []error{fmt.Errorf("no marker defines a %s webhook", kind)}
	})
	return mutating, validating
}
