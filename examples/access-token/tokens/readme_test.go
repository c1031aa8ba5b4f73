// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package tokens_test

import (
	"os"
	"strings"
	"testing"

	"github.com/kube-go/sdk/examples/access-token/tokens"
	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/runtime/fsm/fsmtest"
)

// TestTheReadmeHasTheDiagram checks that the machine has no mistakes, and that README.md has its diagram.
func TestTheReadmeHasTheDiagram(t *testing.T) {
	c, err := kube.NewClient(t.Context(), &kube.ClientOptions{Config: &kube.Config{Server: "https://cluster.test"}})
	if err != nil {
		t.Fatal(err)
	}
	m := tokens.New(c, nil)
	if err := m.Check(); err != nil {
		t.Fatal(err)
	}
	fsmtest.Registered(t, m.Graph(), ".")
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if diagram := "```mermaid\n" + m.Graph().Mermaid() + "```\n"; !strings.Contains(string(readme), diagram) {
		t.Errorf("README.md does not have the diagram\n%s", diagram)
	}
}

// TestTheExampleHasAtMostHalfOfTheLinesOfAchilles counts all hand-written code: the kind, the machine and main. The
// same controller with the Achilles SDK, github.com/reddit/achilles-token-controller at commit a158db7, has 616 lines.
func TestTheExampleHasAtMostHalfOfTheLinesOfAchilles(t *testing.T) {
	lines := 0
	for _, file := range []string{"tokens.go", "../main.go", "../api/v1/accesstoken.go", "../api/v1/doc.go"} {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines += strings.Count(string(source), "\n")
	}
	if lines > 616/2 {
		t.Errorf("the example has %d lines, want at most %d", lines, 616/2)
	}
}
