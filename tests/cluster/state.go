// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/kube-go/sdk/tests/cluster/internal/process"
)

// state is stored for Open. It contains secrets, as the whole directory does.
type state struct {
	Layout     layout
	Components []componentState
}

type componentState struct {
	Spec process.Spec
	PID  int
}

func stateFile(dir string) string { return filepath.Join(dir, "cluster.json") }

// save writes the state file atomically: a reader sees either the old or the new one.
func (c *Cluster) save() error {
	c.saving.Lock()
	defer c.saving.Unlock()
	current := state{Layout: c.layout}
	for _, component := range c.components {
		current.Components = append(current.Components, componentState{component.process.Spec(), component.PID()})
	}
	encoded, err := json.MarshalIndent(current, "", "\t")
	if err != nil {
		return err
	}
	file := stateFile(c.layout.Dir)
	if err := os.WriteFile(file+".new", encoded, 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

func readState(dir string) (state, error) {
	encoded, err := os.ReadFile(stateFile(dir))
	if err != nil {
		return state{}, fmt.Errorf("no cluster in %s: %w", dir, err)
	}
	var kept state
	if err := json.Unmarshal(encoded, &kept); err != nil {
		return state{}, fmt.Errorf("%s: %w", stateFile(dir), err)
	}
	return kept, nil
}
