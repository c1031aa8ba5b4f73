// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"

	"github.com/kube-go/sdk/tests/cluster/internal/node"
	"github.com/kube-go/sdk/tests/cluster/internal/testimage"
)

const (
	// NodeName is the name of the Node of a cluster that has one.
	NodeName = "node-1"
	// TestImage is the only image of the node, which can't pull others. Pods need the imagePullPolicy Never or
	// IfNotPresent.
	TestImage = testimage.Name
)

func (l *layout) nodeDir() string { return filepath.Join(l.Dir, "node") }

func (l *layout) prepareNode(binaries node.Binaries) (*node.Node, error) {
	return node.Prepare(l.nodeDir(), binaries, node.Input{
		Name:         NodeName,
		Kubelet:      append([]string{l.Program, Kubelet}, featureGates(l.FeatureGates)...),
		Kubeconfig:   l.kubeconfig(Kubelet),
		ClientCAFile: l.pki("ca.crt"),
		CertFile:     l.pki("kubelet.crt"),
		KeyFile:      l.pki("kubelet.key"),
		LogDir:       l.Dir,
		Env:          []string{l.mark()},
	})
}

// nodeReady reports whether the Node is ready.
func (c *Cluster) nodeReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	var node struct {
		Status struct {
			Conditions []struct{ Type, Status, Message string }
		}
	}
	if err := do(ctx, c.admin, http.MethodGet, c.URL()+"/api/v1/nodes/"+NodeName, nil, &node); err != nil {
		return err
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == "Ready" {
			if condition.Status == "True" {
				return nil
			}
			return errors.New("the node is not ready: " + condition.Message)
		}
	}
	return errors.New("the node has not reported its status yet")
}
