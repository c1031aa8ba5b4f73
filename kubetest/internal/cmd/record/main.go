// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Command record replaces the recording in package builtin with the documents of the server of the current kubeconfig.
// Run it in the folder of the module: go run ./internal/cmd/record
package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/kubetest/internal/builtin/record"
)

func main() {
	dir := flag.String("dir", filepath.FromSlash("internal/builtin/testdata"), "the `folder` to write the files to")
	flag.Parse()
	if err := run(context.Background(), *dir); err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, dir string) error {
	c, err := client.New(ctx, nil)
	if err != nil {
		return err
	}
	documents, err := record.Record(ctx, c)
	if err != nil {
		return err
	}
	for name, document := range documents {
		if strings.HasSuffix(name, ".json") {
			name += ".gz"
			if document, err = compress(document); err != nil {
				return err
			}
		}
		if err := os.WriteFile(filepath.Join(dir, name), document, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// compress returns the same bytes for the same document: the header of the file has no time.
func compress(document []byte) ([]byte, error) {
	var file bytes.Buffer
	w, err := gzip.NewWriterLevel(&file, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(document); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return file.Bytes(), nil
}
