// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"embed"
	"io/fs"
	"testing"
	"time"

	"github.com/kube-go/sdk/client"
)

//go:embed scripts
var scripts embed.FS

// Run tests the server of a client, which needs all permissions. The server needs no controllers. Each case runs in
// parallel with the others, in a namespace of its own, which it deletes at its end. Definitions of custom resources
// have a random group, and are deleted too.
func Run(t *testing.T, c *client.Client) {
	t.Helper()
	runScripts(t, c, "scripts", mode{patience: 10 * time.Second})
	runTyped(t, c)
}

// RunControllers tests what the controllers of a cluster do: the garbage collector and the deletion of namespaces. It
// fails on an API server that runs alone. Call it before Run, whose namespaces keep the controllers busy for a while.
func RunControllers(t *testing.T, c *client.Client) {
	t.Helper()
	runScripts(t, c, "scripts/controllers", mode{patience: 3 * time.Minute}) // controllers may be busy
}

// runScripts runs the scripts of a folder, but not those of folders in it.
func runScripts(t *testing.T, c *client.Client, dir string, m mode) {
	t.Helper()
	files, err := fs.Glob(scripts, dir+"/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		text, err := fs.ReadFile(scripts, path)
		if err != nil {
			t.Fatal(err)
		}
		s, err := parseScript(path, string(text))
		if err != nil {
			t.Fatal(err)
		}
		t.Run(s.name(), func(t *testing.T) {
			t.Parallel()
			s.run(t, c, m)
		})
	}
}
