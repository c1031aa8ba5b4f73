// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// The limit for a module whose only kind is a type of its own. An empty program that imports metav1 has 12.6 MB.
const maxLeanBytes = 18_500_000

func TestLeanGuestStaysSmall(t *testing.T) {
	if n := len(guestOf(t, ".", "./testdata/kubeguest")); n > maxLeanBytes {
		t.Errorf("the module has %d bytes, want at most %d", n, maxLeanBytes)
	}
}

// The kinds of k8s.io/api have 2.9 MB or more in each module that links them.
func TestGuestsLinkOnlyTheirOwnKinds(t *testing.T) {
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "./testdata/kubeguest")
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
