// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestGuestsStaySmall checks the sizes of programs as modules. An empty program that imports k8s.io/api/core/v1 has
// 15.5 MB, one that imports metav1 has 12.6 MB.
func TestGuestsStaySmall(t *testing.T) {
	for program, limit := range map[string]int{
		"./hello-controller": 21_490_000,
		"./restarts":         18_480_000, // its only kind is a type of its own
	} {
		n := len(guestOf(t, "../../examples", program))
		t.Logf("as a module, %s has %.2f MB (limit %.2f)", program[2:], float64(n)/1e6, float64(limit)/1e6)
		if n > limit {
			t.Errorf("as a module, %s has %d bytes, want at most %d", program[2:], n, limit)
		}
	}
}

// TestGuestsLinkOnlyTheirOwnKinds checks that a module has none of the kinds of k8s.io/api, 2.9 MB or more, that its
// program does not import.
func TestGuestsLinkOnlyTheirOwnKinds(t *testing.T) {
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "./restarts")
	list.Dir = "../../examples"
	list.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	for pkg := range strings.Lines(string(out)) {
		if strings.HasPrefix(pkg, "k8s.io/api/") {
			t.Errorf("a guest whose kind is a type of its own links %s", strings.TrimSpace(pkg))
		}
	}
}
