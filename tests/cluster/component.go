// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/kube-go/sdk/tests/cluster/internal/process"
)

// The names of the components. The last two are there with a node only.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
	Containerd        = "containerd"
	Kubelet           = "kubelet"
)

// nodeHolder is the process that holds the node's mount namespace; see internal/node.
const nodeHolder = "node"

// Component is one program of a cluster, and the faults that can befall it. Its files and addresses stay the same
// whatever happens to it. It is safe for concurrent use.
type Component struct {
	process *process.Process
	started func(*process.Process) error // told of each new operating system process
}

// Name returns the component's name.
func (c *Component) Name() string { return c.process.Name() }

// PID returns its process ID; of a component that does not run, the last it had.
func (c *Component) PID() int { return c.process.PID() }

// Running reports whether it has a process. A paused component has.
func (c *Component) Running() bool { return c.process.Running() }

// Done is closed when the process it has now is gone.
func (c *Component) Done() <-chan struct{} { return c.process.Done() }

// LogFile returns the path of its log. A restarted component goes on in the same file.
func (c *Component) LogFile() string { return c.process.LogFile() }

// Logs returns what it has logged.
func (c *Component) Logs() (string, error) {
	text, err := os.ReadFile(c.process.LogFile())
	return string(text), err
}

// TellingLines returns up to n lines of the log, since the last start, that say what is wrong.
func (c *Component) TellingLines(n int) []string { return c.process.TellingLines(n) }

// Ready waits until it is ready. The error says what it still waits for, or why it has ended.
func (c *Component) Ready(ctx context.Context) error { return c.process.Ready(ctx) }

// Stop ends it as its users expect it to be ended, with SIGTERM, and kills it when it takes more than a second.
func (c *Component) Stop(ctx context.Context) error { return c.process.Stop(ctx) }

// Kill ends it at once, with SIGKILL, and returns when it is gone.
func (c *Component) Kill() error { return c.process.Kill() }

// Start starts it again after Stop, Kill or a crash, and waits until it is ready.
func (c *Component) Start(ctx context.Context) error {
	if c.Running() {
		return fmt.Errorf("start %s: it runs", c.Name())
	}
	return c.Restart(ctx)
}

// Restart stops it if it runs, starts it again with the same arguments, data and address, and waits until it is ready.
func (c *Component) Restart(ctx context.Context) error {
	err := c.process.Restart(ctx)
	return errors.Join(err, c.started(c.process))
}

// Pause holds it where it is, with SIGSTOP: its connections stay open, and nothing answers.
func (c *Component) Pause() error { return c.process.Pause() }

// Resume lets it go on after Pause.
func (c *Component) Resume() error { return c.process.Resume() }
