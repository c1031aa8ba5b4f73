// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package conversiontest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/conversion"
	"github.com/kube-go/sdk/core/wire"
)

// Options are the options of [RoundTrip] and [Fuzz]. The zero value of a field is its default.
type Options struct {
	// Runs is the number of objects for each pair of versions. Default: 200.
	Runs int

	// Seed is the seed of the first object; each further object has the next seed. Default: 0.
	Seed uint64

	// Definition is the CustomResourceDefinition whose schema random values satisfy. Default: any values.
	Definition *unstructured.Unstructured

	// MakeValid changes a random object into a valid one before it is converted. Default: no change.
	MakeValid func(obj core.Object)
}

const defaultRuns = 200

// RoundTrip converts random objects of every version to every other version and back. It fails the test for the first
// object of each pair of versions that differs afterwards.
func RoundTrip(t *testing.T, c *conversion.Converter, o *Options) {
	t.Helper()
	if o == nil {
		o = &Options{}
	}
	runs := o.Runs
	if runs == 0 {
		runs = defaultRuns
	}
	for _, p := range pairs(t, c, o) {
		t.Run(p.from+" to "+p.to+" and back", func(t *testing.T) {
			for i := range runs {
				if err := p.roundTrip(o.Seed + uint64(i)); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// Fuzz runs the round trips as a fuzz test, whose input is the seed.
func Fuzz(f *testing.F, c *conversion.Converter, o *Options) {
	f.Helper()
	if o == nil {
		o = &Options{}
	}
	all := pairs(f, c, o)
	f.Add(o.Seed)
	f.Fuzz(func(t *testing.T, seed uint64) {
		for _, p := range all {
			if err := p.roundTrip(seed); err != nil {
				t.Error(err)
			}
		}
	})
}

// pair is a round trip from one version to another and back.
type pair struct {
	converter *conversion.Converter
	from, to  string
	schema    *schema
	makeValid func(core.Object)
}

func pairs(t testing.TB, c *conversion.Converter, o *Options) []pair {
	t.Helper()
	versions := c.Versions()
	if len(versions) < 2 {
		t.Fatalf("the converter has the versions %v: want at least two", versions)
	}
	if o.Definition != nil {
		if err := c.Covers(o.Definition); err != nil {
			t.Fatal(err)
		}
	}
	var all []pair
	for _, from := range versions {
		s, err := schemaOf(o.Definition, from)
		if err != nil {
			t.Fatal(err)
		}
		for _, to := range versions {
			if from != to {
				all = append(all, pair{c, from, to, s, o.MakeValid})
			}
		}
	}
	return all
}

// roundTrip returns an error if the object of a seed differs after the round trip.
func (p pair) roundTrip(seed uint64) error {
	before, err := p.object(seed)
	if err != nil {
		return fmt.Errorf("seed %d: make a %s: %w", seed, p.from, err)
	}
	there, err := p.convert(before, p.to)
	if err != nil {
		return fmt.Errorf("seed %d: from %s to %s: %w\n%s", seed, p.from, p.to, err, before.Bytes())
	}
	back, err := p.convert(there, p.from)
	if err != nil {
		return fmt.Errorf("seed %d: back from %s to %s: %w\n%s", seed, p.to, p.from, err, there.Bytes())
	}
	diff, err := p.difference(before, back)
	if err != nil {
		return fmt.Errorf("seed %d: %w", seed, err)
	}
	if diff != "" {
		return fmt.Errorf(
			"seed %d: %s differs after a conversion to %s and back (-before +after):\n%s",
			seed,
			p.from,
			p.to,
			diff,
		)
	}
	return nil
}

// object returns the object of a seed.
func (p pair) object(seed uint64) (wire.Packed, error) {
	obj, err := p.converter.Empty(p.from)
	if err != nil {
		return wire.Packed{}, err
	}
	f := &filler{rand: rand.New(rand.NewPCG(seed, 0))}
	if err := f.fill(obj, p.schema); err != nil {
		return wire.Packed{}, err
	}
	obj.GetObjectKind().SetGroupVersionKind(p.kind(p.from).GroupVersionKind())
	if p.makeValid != nil {
		p.makeValid(obj)
	}
	return wire.Pack(obj, wire.JSON)
}

func (p pair) kind(version string) core.Resource {
	res := p.converter.Resource()
	res.Version = version
	return res
}

func (p pair) convert(obj wire.Packed, version string) (wire.Packed, error) {
	out, err := p.converter.Convert(obj, p.kind(version).APIVersion())
	if err != nil {
		return wire.Packed{}, err
	}
	return wire.Pack(out, wire.JSON)
}

// difference compares two objects as encoded. It ignores the annotations in which the converter keeps lost fields.
func (p pair) difference(before, after wire.Packed) (string, error) {
	var objects [2]map[string]any
	for i, packed := range []wire.Packed{before, after} {
		if err := wire.UnmarshalJSON(packed.Bytes(), &objects[i]); err != nil {
			return "", fmt.Errorf("decode the result: %w", err)
		}
		u := unstructured.Unstructured{Object: objects[i]}
		annotations := u.GetAnnotations()
		maps.DeleteFunc(annotations, func(name, _ string) bool {
			return strings.HasPrefix(name, p.converter.Resource().Group+"/conversion-")
		})
		u.SetAnnotations(annotations)
		if len(annotations) == 0 {
			unstructured.RemoveNestedField(u.Object, "metadata", "annotations")
		}
	}
	return cmp.Diff(objects[0], objects[1]), nil
}
