// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-go/sdk/kube"
)

// object is an object from a file.
type object struct {
	*unstructured.Unstructured
	source string // file and line, for messages
}

// read returns the objects in files and directories, and in the reader for the path "-", in the order to apply them.
func read(paths []string, in io.Reader) ([]object, error) {
	var objects []object
	for _, path := range paths {
		if path == "-" {
			found, err := readDocuments(in, "standard input")
			if err != nil {
				return nil, err
			}
			objects = append(objects, found...)
			continue
		}
		files, err := filesOf(path)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			found, err := readFile(file)
			if err != nil {
				return nil, err
			}
			objects = append(objects, found...)
		}
	}
	if len(objects) == 0 {
		return nil, errors.New("the files contain no objects")
	}
	slices.SortStableFunc(objects, func(a, b object) int { return cmp.Compare(rank(kindOf(a)), rank(kindOf(b))) })
	return objects, nil
}

func kindOf(obj object) schema.GroupKind { return obj.GroupVersionKind().GroupKind() }

// rank orders kinds: objects of a lower rank are applied first and pruned last, because others need them.
func rank(kind schema.GroupKind) int {
	switch {
	case isNamespace(kind):
		return 0
	case isCRD(kind):
		return 1
	}
	return 2
}

func isNamespace(kind schema.GroupKind) bool { return kind == schema.GroupKind{Kind: "Namespace"} }

func isCRD(kind schema.GroupKind) bool {
	return kind == schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
}

// filesOf returns the manifests in a directory, without its subdirectories. For a file it returns the path.
func filesOf(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return []string{path}, err
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, entry := range entries {
		if slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(entry.Name())) && !entry.IsDir() {
			files = append(files, filepath.Join(path, entry.Name()))
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s contains no .yaml, .yml or .json files", path)
	}
	return files, nil
}

func readFile(path string) ([]object, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return readDocuments(file, path)
}

func readDocuments(r io.Reader, source string) ([]object, error) {
	var objects []object
	for doc, err := range kube.Documents(r, nil) {
		if err != nil {
			return nil, fmt.Errorf("%s: %w", source, err)
		}
		obj := object{new(unstructured.Unstructured), fmt.Sprintf("%s, line %d", source, doc.Line)}
		if err := doc.Decode(obj.Unstructured); err != nil {
			return nil, fmt.Errorf("%s: %w", source, err)
		}
		if obj.GetName() == "" {
			return nil, fmt.Errorf("%s: metadata.name is missing: server-side apply requires a name", obj.source)
		}
		objects = append(objects, obj)
	}
	return objects, nil
}
