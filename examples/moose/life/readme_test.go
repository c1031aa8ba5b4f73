// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package life_test

import (
	"os"
	"strings"
	"testing"

	"github.com/kube-go/sdk/examples/moose/life"
	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/runtime/fsm/fsmtest"
)

// TestTheReadmeHasTheDiagram checks that the machine has no mistakes, and that README.md and machine.mmd, which the
// documentation of the kind includes, have its diagram.
func TestTheReadmeHasTheDiagram(t *testing.T) {
	c, err := kube.NewClient(t.Context(), &kube.ClientOptions{Config: &kube.Config{Server: "https://cluster.test"}})
	if err != nil {
		t.Fatal(err)
	}
	m := life.New(c, nil)
	if err := m.Check(); err != nil {
		t.Fatal(err)
	}
	fsmtest.Registered(t, m.Graph(), ".")
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if file, err := os.ReadFile("machine.mmd"); err != nil || string(file) != m.Graph().Mermaid() {
		t.Errorf("machine.mmd is out of date (%v): run go run ./moose -graph > moose/life/machine.mmd", err)
	}
	if diagram := "```mermaid\n" + m.Graph().Mermaid() + "```\n"; !strings.Contains(string(readme), diagram) {
		t.Errorf("README.md does not have the diagram\n%s", diagram)
	}
}
