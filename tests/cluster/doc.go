// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package cluster starts a real Kubernetes on this machine for tests and demonstrations: etcd, the API server, the
// controller manager, the scheduler and, on request, a node that runs containers. All of it is built from Go modules;
// there is no container engine, and nothing is downloaded but modules.
//
// Want it when a test must know what Kubernetes really does, and what a client does when Kubernetes misbehaves:
//
//	func TestMain(m *testing.M) {
//		c, err := cluster.Start(context.Background(), &cluster.Options{Log: os.Stderr})
//		if err != nil {
//			log.Fatal(err)
//		}
//		kubeconfig = c.Kubeconfig()
//		code := m.Run()
//		if err := c.Stop(); err != nil {
//			log.Fatal(err)
//		}
//		os.Exit(code)
//	}
//
// The first start builds Kubernetes, which takes minutes and about 140 MB in [Options].CacheDir; later ones take seconds.
// Building needs the go command. A cluster without a node needs no root and nothing else of the system. The command
// kubecluster, in cmd/kubecluster, does the same for the command line.
//
// # Security
//
// Every cluster has certificate authorities of its own, listens on 127.0.0.1 only, and verifies TLS everywhere. There is
// an administrator with a client certificate, a user with a bearer token who may only look, and RBAC for all others.
// Whoever can read the cluster's directory is an administrator; others on this machine cannot.
//
// # Faults
//
// [Component] stops, kills, pauses and restarts one program; addresses and data stay. [Cluster.CompactEtcd] makes history
// expire.
//
// # Life
//
// A cluster dies with the process that started it, however that ends, unless it was detached. Several clusters run side
// by side. Linux and macOS are supported, a node on Linux only.
//
// # Concurrency
//
// Everything here is safe for concurrent use.
package cluster
