// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// crdSource reads CRDs from where people keep them.
type crdSource struct {
	stdin io.Reader
}

// read returns the CRDs at a place, which has at least one.
func (s *crdSource) read(ctx context.Context, place string) ([]*unstructured.Unstructured, error) {
	files, err := s.files(ctx, place)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", place, err)
	}
	var crds []*unstructured.Unstructured
	for _, f := range files {
		found, err := parseCRDs(f.text)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", f.name, err)
		}
		crds = append(crds, found...)
	}
	if len(crds) == 0 {
		return nil, fmt.Errorf("read %s: it has no CustomResourceDefinition", place)
	}
	return crds, nil
}

// namedText is a file that has been read.
type namedText struct {
	name string
	text []byte
}

func (s *crdSource) files(ctx context.Context, place string) ([]namedText, error) {
	if place == "-" {
		text, err := io.ReadAll(s.stdin)
		return []namedText{{"stdin", text}}, err
	}
	if rest, ok := strings.CutPrefix(place, "git:"); ok {
		revision, path, ok := strings.Cut(rest, ":")
		if !ok || revision == "" || path == "" || strings.HasPrefix(revision, "-") {
			return nil, errors.New("write git:REVISION:PATH, such as git:main:config/crd")
		}
		return gitFiles(ctx, revision, path)
	}
	var files []namedText
	err := filepath.WalkDir(place, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path != place && !hasObjects(path) {
			return err
		}
		text, err := os.ReadFile(path)
		files = append(files, namedText{path, text})
		return err
	})
	return files, err
}

// hasObjects reports whether a file in a directory is one that may have CRDs in it.
func hasObjects(path string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(path))
}

// gitFiles reads a file or a directory as it is in a revision. The path is relative to the current directory.
func gitFiles(ctx context.Context, revision, path string) ([]namedText, error) {
	names, err := git(ctx, "ls-tree", "-r", "-z", "--name-only", revision, "--", path)
	if err != nil {
		return nil, err
	}
	var files []namedText
	for name := range strings.SplitSeq(strings.TrimRight(string(names), "\x00"), "\x00") {
		if name == "" || name != filepath.ToSlash(filepath.Clean(path)) && !hasObjects(name) {
			continue
		}
		text, err := git(ctx, "show", revision+":./"+name)
		if err != nil {
			return nil, err
		}
		files = append(files, namedText{"git:" + revision + ":" + name, text})
	}
	if len(files) == 0 {
		return nil, errors.New("the revision has no such files")
	}
	return files, nil
}

func git(ctx context.Context, args ...string) ([]byte, error) {
	out, err := exec.CommandContext(ctx, "git", args...).Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil, fmt.Errorf("git %s: %s", args[0], bytes.TrimSpace(exit.Stderr))
	}
	return out, err
}

// documentEnd matches the separator between the documents of a file.
var documentEnd = regexp.MustCompile(`(?m)^---(?:[ \t].*)?\r?$`)

// parseCRDs returns the CRDs among the objects of a file, those in lists too.
func parseCRDs(text []byte) ([]*unstructured.Unstructured, error) {
	var crds []*unstructured.Unstructured
	for _, document := range documentEnd.Split(string(text), -1) {
		var object map[string]any
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			return nil, err
		}
		objects := []any{object}
		if items, ok := object["items"].([]any); ok && strings.HasSuffix(fmt.Sprint(object["kind"]), "List") {
			objects = items
		}
		for _, o := range objects {
			if o, ok := o.(map[string]any); ok && o["kind"] == "CustomResourceDefinition" {
				crds = append(crds, &unstructured.Unstructured{Object: o})
			}
		}
	}
	return crds, nil
}
