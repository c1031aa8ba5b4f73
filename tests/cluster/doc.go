// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package cluster starts a real Kubernetes on this machine for tests and demonstrations: etcd, the API server, the
// controller manager, the scheduler and, on request, a node that runs containers. All of it is built from Go modules;
// there is no container engine, and nothing is downloaded but modules.
//
// Use it for tests that need the real behavior of Kubernetes, and for tests of a client when Kubernetes fails:
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
// The first start builds Kubernetes, which takes minutes and about 140 MB in [Options].CacheDir; later ones take
// seconds. Building needs the go command. A cluster without a node needs neither root nor other programs. The command
// kubecluster, in cmd/kubecluster, does the same on the command line.
//
// # Security
//
// Every cluster has its own certificate authorities, and verifies TLS everywhere. It listens only on 127.0.0.1 and, if
// it has a node, on the network of its pods. It has an administrator with a client certificate, a user with a bearer
// token who may only read, and RBAC for all others. Everyone who can read the cluster's directory is an administrator;
// only its owner can read it.
//
// # Faults
//
// [Component] stops, kills, pauses and restarts one program, which keeps its addresses and data. [Cluster.CompactEtcd]
// makes resource versions expire.
//
// # Lifetime
//
// A cluster ends with the process that started it, even if that is killed, unless it is detached. [Open] finds a
// detached cluster, and [Clean] ends one whose files were deleted. Several clusters can run at the same time. Linux and
// macOS are supported, and a node on Linux only.
//
// # Concurrency
//
// All functions and methods are safe for concurrent use.
package cluster
