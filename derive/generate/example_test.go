// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package generate_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/kube-go/sdk/derive/generate"
)

// here are the options that make files beside the packages that the examples read.
func here() *generate.Options { return &generate.Options{Dir: "testdata/document"} }

// show prints the name of the first file, and some lines of it from one that begins with a text.
func show(files *generate.Files, err error, from string, lines int) {
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(filepath.Base(files.Files[0].Path))
	_, text, _ := strings.Cut("\n"+string(files.Files[0].Content), "\n"+from)
	for _, line := range strings.SplitN(from+text, "\n", lines+1)[:lines] {
		fmt.Println(strings.TrimSpace(line))
	}
}

func ExampleApply() {
	files, err := generate.Apply(context.Background(), []string{"."}, here())
	show(files, err, "type DocumentSpecApply", 4)
	// Output:
	// zz_generated.apply.go
	// type DocumentSpecApply struct {
	// // Title shown to readers.
	// Title *string `json:"title,omitempty"`
	// }
}

func ExampleMarkdown() {
	files, err := generate.Markdown(context.Background(), []string{"."}, here())
	show(files, err, "- **apiVersion**", 3)
	// Output:
	// docs.example.com_v1.md
	// - **apiVersion**: `docs.example.com/v1`
	// - **kind**: `Document`
	// - **Resource**: `documents.docs.example.com`, namespaced
}

func ExampleHTML() {
	files, err := generate.HTML(context.Background(), []string{"."}, here())
	show(files, err, "<title>", 1)
	// Output:
	// docs.example.com_v1.html
	// <title>docs.example.com/v1</title>
}

func ExampleSchemas() {
	files, err := generate.Schemas(context.Background(), []string{"."}, here())
	show(files, err, "  \"required\"", 5)
	// Output:
	// document_v1.json
	// "required": [
	// "apiVersion",
	// "kind",
	// "spec"
	// ],
}

func ExampleSamples() {
	files, err := generate.Samples(context.Background(), []string{"."}, here())
	show(files, err, "apiVersion", 6)
	// Output:
	// docs.example.com_v1_document.yaml
	// apiVersion: docs.example.com/v1
	// kind: Document
	// metadata:
	// name: example
	// spec:
	// title: example
}
