// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package conversiontest

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
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

	// Definition is the CustomResourceDefinition whose schema random values satisfy, and whose defaults each version of
	// an object gets. Default: any values, and no defaults.
	Definition *unstructured.Unstructured

	// MakeValid changes a random object into a valid one before it is converted. It must set the fields that can't be
	// filled, see the package comment. Default: no change.
	MakeValid func(obj core.Object)
}

const defaultRuns = 200

// runs returns the number of objects for each pair of versions.
func (o *Options) runs() (int, error) {
	if o.Runs < 0 {
		return 0, fmt.Errorf("Options.Runs is %d: set a positive number, or none for the default", o.Runs)
	}
	return cmp.Or(o.Runs, defaultRuns), nil
}

// RoundTrip converts random objects of every version to every other version and back. It fails the test for the first
// object of each pair of versions that differs afterwards, and for fields that it can't fill and [Options.MakeValid]
// does not set.
func RoundTrip(t *testing.T, c *conversion.Converter, o *Options) {
	t.Helper()
	if o == nil {
		o = &Options{}
	}
	runs, err := o.runs()
	if err != nil {
		t.Fatal(err)
	}
	all := pairs(t, c, o)
	for _, p := range all {
		t.Run(p.from+" to "+p.to+" and back", func(t *testing.T) {
			for i := range runs {
				if err := p.roundTrip(o.Seed + uint64(i)); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
	if t.Failed() {
		return
	}
	empty := untested(all)
	for _, version := range c.Versions() {
		if fields := empty[version]; len(fields) > 0 {
			t.Errorf("%s: no value can be made for the fields %s, and they are empty in all objects: set them in "+
				"Options.MakeValid, or give them an enum in the definition", version, strings.Join(fields, ", "))
		}
	}
}

// untested returns the fields of each version that could not be filled and are empty in all objects.
func untested(all []pair) map[string][]string {
	untested := map[string][]string{}
	for _, p := range all {
		if missing := p.coverage.missing(); len(missing) > 0 {
			untested[p.from] = missing
		}
	}
	return untested
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
	schemas   map[string]*schema // by version; nil allows everything
	makeValid func(core.Object)
	coverage  *coverage // of the objects of from
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
	schemas := map[string]*schema{}
	for _, version := range versions {
		s, err := schemaOf(o.Definition, version)
		if err != nil {
			t.Fatal(err)
		}
		schemas[version] = s
	}
	var all []pair
	for _, from := range versions {
		covered := newCoverage()
		for _, to := range versions {
			if from != to {
				all = append(all, pair{c, from, to, schemas, o.MakeValid, covered})
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
	f := &filler{rand: rand.New(rand.NewPCG(seed, 0)), gaveUp: p.coverage.gaveUp}
	if err := f.fill(obj, p.schemas[p.from]); err != nil {
		return wire.Packed{}, err
	}
	obj.GetObjectKind().SetGroupVersionKind(p.kind(p.from).GroupVersionKind())
	if p.makeValid != nil {
		p.makeValid(obj)
	}
	p.coverage.add(obj)
	return p.served(obj, p.from)
}

// served returns an object as a server serves it, which sets the defaults of the version.
func (p pair) served(obj core.Object, version string) (wire.Packed, error) {
	packed, err := wire.Pack(obj, wire.JSON)
	s := p.schemas[version]
	if err != nil || s == nil {
		return packed, err
	}
	var value any
	if err := wire.UnmarshalJSON(packed.Bytes(), &value); err != nil {
		return wire.Packed{}, err
	}
	s.setDefaults(value)
	data, err := wire.MarshalJSON(value)
	return wire.NewPacked(wire.JSON, data), err
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
	return p.served(out, version)
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
	return gocmp.Diff(objects[0], objects[1]), nil
}
