// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package generate_test

import (
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/kube-go/sdk/derive/generate"
	"github.com/kube-go/sdk/derive/generate/testdata/shapes"
	"github.com/kube-go/sdk/derive/generate/testdata/zoo"
)

// samplesOf returns the samples of a package of testdata by the ends of their names.
func samplesOf(t *testing.T, pkg string) map[string][]byte {
	t.Helper()
	files, err := generate.Samples(t.Context(), []string{"."}, &generate.Options{Dir: filepath.Join("testdata", pkg)})
	if err != nil {
		t.Fatal(err)
	}
	samples := map[string][]byte{}
	for _, f := range files.Files {
		samples[filepath.Base(f.Path)] = f.Content
	}
	return samples
}

// What a sample says must make sense to the program that the kind is for, not only to the server: durations, times,
// quoted numbers and addresses are texts that the Go types understand.
func TestSamplesDecodeIntoTheirTypes(t *testing.T) {
	for _, tt := range []struct {
		name, pkg string
		files     int
		decode    func([]byte) error
	}{
		{"every shape of type", "shapes", 2, decode[shapes.Shape]},
		{"every marker", "zoo", 2, decode[zoo.Zoo]},
	} {
		t.Run(tt.name, func(t *testing.T) {
			samples := samplesOf(t, tt.pkg)
			if len(samples) != tt.files {
				t.Errorf("there are %d samples, want %d", len(samples), tt.files)
			}
			for name, sample := range samples {
				if err := tt.decode(sample); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
}

func decode[T any](sample []byte) error {
	object := map[string]any{}
	if err := yaml.Unmarshal(sample, &object); err != nil {
		return err
	}
	// These types of testdata can be written, but not read, or have a schema that is not theirs.
	for _, path := range []string{"spec.encoded", "spec.maps.encoded", "spec.maps.coded", "spec.texts.coded", "spec.tags.retyped", "spec.known.retyped"} {
		unstructured.RemoveNestedField(object, strings.Split(path, ".")...)
	}
	text, err := yaml.Marshal(object)
	if err != nil {
		return err
	}
	return yaml.UnmarshalStrict(text, new(T))
}
