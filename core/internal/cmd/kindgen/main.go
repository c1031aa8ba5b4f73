// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	_ "embed"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

//go:embed discovery.json
var discovery []byte

func main() {
	trim := flag.Bool("trim", false, "read aggregated discovery documents from stdin, write a snapshot to stdout")
	out := flag.String("out", "zz_generated.kinds.go", "the `file` to write the table to")
	flag.Parse()
	if err := run(context.Background(), *trim, *out); err != nil {
		fmt.Fprintln(os.Stderr, "kindgen:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, trim bool, out string) error {
	if trim {
		return trimDiscovery(os.Stdin, os.Stdout)
	}
	source, err := generate(ctx)
	if err != nil {
		return err
	}
	return os.WriteFile(out, source, 0o644)
}

// generate returns the source of the table.
func generate(ctx context.Context) ([]byte, error) {
	dir, err := apiDir(ctx)
	if err != nil {
		return nil, err
	}
	kinds, err := parseAPI(dir)
	if err != nil {
		return nil, err
	}
	served, err := parseSnapshot(discovery)
	if err != nil {
		return nil, err
	}
	merged, err := merge(kinds, served)
	if err != nil {
		return nil, err
	}
	return render(merged)
}

// apiDir returns the folder with the sources of k8s.io/api, in the version of core's go.mod.
func apiDir(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/api").Output()
	dir := strings.TrimSpace(string(out))
	if err == nil && dir == "" {
		err = fmt.Errorf("it is not in the module cache: run go mod download")
	}
	if err != nil {
		return "", fmt.Errorf("find the sources of k8s.io/api: %w", err)
	}
	return dir, nil
}
