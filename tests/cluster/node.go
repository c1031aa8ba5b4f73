// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/kube-go/sdk/tests/cluster/internal/node"
	"github.com/kube-go/sdk/tests/cluster/internal/rest"
	"github.com/kube-go/sdk/tests/cluster/internal/testimage"
)

const (
	// NodeName is the name of the Node of a cluster that has one.
	NodeName = "node-1"
	// TestImage is the image that the node has from the beginning. It can't pull others, see [Cluster.LoadImages]. Pods
	// need the imagePullPolicy Never or IfNotPresent.
	//
	// The image has no shell, and only the program "tool", which waits by default. The arguments of the container are one
	// of its commands: pause, sleep DURATION, exit STATUS, echo, cat, lines N [INTERVAL], env, ls, write SIZE, sum, tar,
	// serve PORT (HTTP), echo-server PORT (TCP) and get URL.
	TestImage = testimage.Name
)

// CheckNode returns an error with everything that this machine lacks for a cluster with a node, and how to install it.
// It returns nil if [Options.Node] will work.
func CheckNode() error { return node.Check() }

// LoadImages loads the images of an archive into the node, such as the output of `docker save IMAGE`: a tar file in the
// format of Docker or OCI, which may be compressed. An image without a tag can't be used by a pod.
func (c *Cluster) LoadImages(ctx context.Context, archive io.Reader) error {
	if !c.layout.Node {
		return errors.New("load images: the cluster has no node; start it with Options.Node")
	}
	if err := node.Import(ctx, c.layout.nodeDir(), archive); err != nil {
		return fmt.Errorf("load images: %w", err)
	}
	return nil
}

func (l *layout) nodeDir() string { return filepath.Join(l.Dir, "node") }

func (l *layout) prepareNode(binaries node.Binaries) (*node.Node, error) {
	return node.Prepare(l.nodeDir(), binaries, node.Input{
		Name:         NodeName,
		Kubelet:      append([]string{l.Program, Kubelet}, featureGates(l.FeatureGates)...),
		Kubeconfig:   l.kubeconfig(Kubelet),
		Server:       fmt.Sprintf("127.0.0.1:%d", l.Ports.APIServer),
		Service:      fmt.Sprintf("%s:%d", kubernetes, node.ServicePort),
		ClientCAFile: l.pki("ca.crt"),
		CertFile:     l.pki("kubelet.crt"),
		KeyFile:      l.pki("kubelet.key"),
		Port:         l.Ports.Kubelet,
		HealthzPort:  l.Ports.KubeletHealthz,
		LogDir:       l.Dir,
		Env:          []string{l.mark()},
	})
}

// nodeReady reports whether the Node is ready.
func (c *Cluster) nodeReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, rest.ProbeTimeout)
	defer cancel()
	if err := node.Ready(ctx, c.admin, c.URL(), NodeName); err != nil {
		return fmt.Errorf("the node is not ready: %w", err)
	}
	return nil
}
