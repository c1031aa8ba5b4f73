// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kubetest

import (
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/kubetest/internal/api"
)

// seeds returns the objects that exist when the server starts.
func (o *Options) seeds() (seeds []api.Seed, err error) {
	for i, pattern := range o.Files {
		files, err := filepath.Glob(pattern)
		if err == nil && len(files) == 0 {
			err = fmt.Errorf("%s matches no file", pattern)
		}
		if err != nil {
			return nil, fmt.Errorf("Options.Files[%d]: %w", i, err)
		}
		for _, file := range files {
			objects, err := readFile(file)
			if err != nil {
				return nil, fmt.Errorf("Options.Files[%d]: %w", i, err)
			}
			seeds = append(seeds, objects...)
		}
	}
	for i, obj := range o.Objects {
		seeds = append(seeds, api.Seed{Object: obj, From: fmt.Sprintf("Options.Objects[%d], %T", i, obj)})
	}
	return seeds, nil
}

// readFile returns the objects in a file.
func readFile(name string) (seeds []api.Seed, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for doc, err := range wire.Documents(f, nil) {
		obj := &unstructured.Unstructured{}
		if err == nil {
			err = doc.Decode(obj)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		seeds = append(seeds, api.Seed{Object: obj, From: fmt.Sprintf("%s:%d", name, doc.Line)})
	}
	return seeds, nil
}
