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

// The names of the components. Only clusters with a node have the last three.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
	Containerd        = "containerd"
	Kubelet           = "kubelet"
	Forwarder         = "forwarder" // forwards connections of pods to the API server
)

// nodeHolder is the process that holds the node's mount namespace; see internal/node.
const nodeHolder = "node"

// Component is one program of a cluster, in which tests can cause faults. Its files and addresses never change. It is
// safe for concurrent use.
type Component struct {
	process *process.Process
	started func(*process.Process) error // called for each new operating system process
}

// Name returns the component's name.
func (c *Component) Name() string { return c.process.Name() }

// PID returns its process ID, or the last one if it is not running.
func (c *Component) PID() int { return c.process.PID() }

// Running reports whether it has a process. A paused component does.
func (c *Component) Running() bool { return c.process.Running() }

// Done returns a channel that is closed when its current process has ended.
func (c *Component) Done() <-chan struct{} { return c.process.Done() }

// LogFile returns the path of its log. A restarted component appends to the same file.
func (c *Component) LogFile() string { return c.process.LogFile() }

// Logs returns its log.
func (c *Component) Logs() (string, error) {
	text, err := os.ReadFile(c.process.LogFile())
	return string(text), err
}

// Ready waits until it is ready. The error is the last failed check, or the reason why it ended.
func (c *Component) Ready(ctx context.Context) error { return c.process.Ready(ctx) }

// Stop ends it with SIGTERM, and kills it if it takes more than a second.
func (c *Component) Stop(ctx context.Context) error { return c.process.Stop(ctx) }

// Kill ends it immediately with SIGKILL, and returns when it has ended.
func (c *Component) Kill() error { return c.process.Kill() }

// Start starts it again after Stop, Kill or a crash, and waits until it is ready. It is an error after [Cluster.Stop].
func (c *Component) Start(ctx context.Context) error {
	if c.Running() {
		return fmt.Errorf("start %s: it is already running", c.Name())
	}
	return c.Restart(ctx)
}

// Restart stops it if it is running, starts it again with the same arguments, data and address, and waits until it is
// ready. It is an error after [Cluster.Stop].
func (c *Component) Restart(ctx context.Context) error {
	before := c.process.PID()
	err := c.process.Restart(ctx)
	if c.process.PID() == before {
		return err // it was not started
	}
	return errors.Join(err, c.started(c.process))
}

// Pause suspends it with SIGSTOP: its connections stay open, but it does not respond.
func (c *Component) Pause() error { return c.process.Pause() }

// Resume continues it after Pause.
func (c *Component) Resume() error { return c.process.Resume() }
