// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/kube-go/sdk/derive/internal/crd"
	"github.com/kube-go/sdk/derive/internal/manifests"
	"github.com/kube-go/sdk/derive/validation"
)

// Samples returns two objects for each served version of the kinds that [CRDs] finds, which servers accept: the smallest, and one
// that has all fields, with what they are for. They are <group>_<version>_<kind>.yaml and the same with _full in the
// directory of the options, by default "samples".
//
// Errors: [*SourceError] for mistakes in the sources, and for kinds of which no object was found.
func Samples(ctx context.Context, patterns []string, o *Options) (*Files, error) {
	return ofKinds(ctx, patterns, o, "samples", (*run).samples)
}

// samples makes the files of the samples.
func (r *run) samples(dir string) {
	r.assemble()
	for _, v := range r.versions() {
		if !v.Served {
			continue
		}
		if err := r.samplesOf(v, dir); err != nil {
			r.problems.add(v.Pos, fmt.Sprintf("%s: no sample: %v", v.Name, err))
		}
	}
}

// samplesOf makes the files of one version of a kind.
func (r *run) samplesOf(v crd.Version, dir string) error {
	definition, err := r.crds[v.CRDName()].Object()
	if err != nil {
		return err
	}
	validator, err := validation.New(definition, v.Version, nil)
	if err != nil {
		return err
	}
	base := filepath.Join(dir, fmt.Sprintf("%s_%s_%s", v.Group, v.Version, strings.ToLower(v.Name)))
	for name, full := range map[string]bool{".yaml": false, "_full.yaml": true} {
		object, err := validator.Sample(full)
		if err != nil {
			return err
		}
		body, err := manifests.Render(object.Object, v.Schema, full)
		if err != nil {
			return err
		}
		r.files = append(r.files, File{Path: base + name, Content: body})
	}
	return nil
}
