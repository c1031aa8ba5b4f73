// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"context"
	"fmt"
	"go/token"
	"path/filepath"
	"strings"

	"github.com/kube-go/sdk/derive/internal/crd"
	"github.com/kube-go/sdk/derive/internal/manifests"
	"github.com/kube-go/sdk/derive/internal/structural"
	"github.com/kube-go/sdk/derive/validation"
)

// Samples returns two valid objects for each served version of the kinds that [CRDs] finds: a minimal one, and one with
// all fields and their descriptions. They are <group>_<version>_<kind>.yaml and the same with _full in [Options.Out].
//
// Errors: [*SourceError] for mistakes in the sources, and for kinds without a sample.
func Samples(ctx context.Context, patterns []string, o *Options) (*Files, error) {
	return ofKinds(ctx, patterns, o, "samples", (*run).samples)
}

// samples writes the files of the samples.
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

// samplesOf writes the files of one version of a kind.
func (r *run) samplesOf(v crd.Version, dir string) error {
	validator, err := validatorOf(v)
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

// validatorOf returns a validator of one version of a kind. If the schema of a string allows values that the Go type
// can't decode, as for durations, the validator has a valid example.
func validatorOf(v crd.Version) (*validation.Validator, error) {
	v.Schema = v.Schema.Clone()
	exemplify(v.Schema)
	known := func(token.Position, string) {} // mistakes have already been reported
	definition, err := crd.Assemble([]crd.Version{v}, known).Object()
	if err != nil {
		return nil, err
	}
	return validation.New(definition, v.Version, nil)
}

// exemplify adds typical values as examples to schemas without one, and removes the descriptions.
func exemplify(s *structural.Schema) {
	if s == nil {
		return
	}
	s.Description = ""
	if s.Example == nil && s.Default == nil && s.Accepts(s.Typical) == nil {
		s.Example = s.Typical
	}
	for _, p := range s.Properties {
		exemplify(p)
	}
	exemplify(s.Items)
	exemplify(s.AdditionalProperties)
}
