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

// validatorOf returns a validator of one version of a kind. Where its schema allows texts that the Go type can't be read
// from, as for durations, the validator has an example of one that can.
func validatorOf(v crd.Version) (*validation.Validator, error) {
	v.Schema = v.Schema.Clone()
	exemplify(v.Schema)
	known := func(token.Position, string) {} // mistakes have been reported when the definition of all versions was made
	definition, err := crd.Assemble([]crd.Version{v}, known).Object()
	if err != nil {
		return nil, err
	}
	return validation.New(definition, v.Version, nil)
}

// exemplify gives typical values as examples to what has none, and takes the descriptions away, which say nothing of values.
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
