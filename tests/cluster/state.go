// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/kube-go/sdk/tests/cluster/internal/build"
	"github.com/kube-go/sdk/tests/cluster/internal/process"
)

// state is stored for Open. It contains secrets, as the whole directory does.
type state struct {
	Layout     layout
	Components []componentState
	Starting   bool // the start is not complete
}

type componentState struct {
	Spec process.Spec
	PID  int
}

func stateFile(dir string) string { return filepath.Join(dir, "cluster.json") }

// save stores one process. The other components of the state file remain unchanged, since other processes may have
// restarted them.
func (c *Cluster) save(p *process.Process) error {
	return c.update(func(s *state) { s.set(componentState{p.Spec(), p.PID()}) })
}

// saveStarted stores that the start is complete.
func (c *Cluster) saveStarted() error {
	return c.update(func(s *state) { s.Starting = false })
}

// update changes the state file. It writes the file atomically: a reader sees either the old or the new one.
func (c *Cluster) update(change func(*state)) error {
	file := stateFile(c.layout.Dir)
	lock, err := build.Lock(context.Background(), file+".lock", func() {}) // others hold it only for a moment
	if err != nil {
		return err
	}
	defer lock.Close()
	current, err := readState(c.layout.Dir)
	if errors.Is(err, os.ErrNotExist) {
		current, err = state{Layout: c.layout, Starting: true}, nil
	}
	if err != nil {
		return err
	}
	change(&current)
	encoded, err := json.MarshalIndent(current, "", "\t")
	if err != nil {
		return err
	}
	if err := os.WriteFile(file+".new", encoded, 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

// set replaces the component with the same name, or adds it.
func (s *state) set(started componentState) {
	for i := range s.Components {
		if s.Components[i].Spec.Name == started.Spec.Name {
			s.Components[i] = started
			return
		}
	}
	s.Components = append(s.Components, started)
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
