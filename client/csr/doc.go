// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package csr provides the verbs that only certificate signing requests have: approve and deny.
//
// Use it in approvers: programs that decide which requests a signer of the cluster may sign. The permissions are get
// and patch for certificatesigningrequests/approval, and approve for the name of the signer.
//
//	c, err := client.New(ctx, nil)
//	if err != nil {
//		return err
//	}
//	_, err = csr.New(c).Approve(ctx, "web-client", &csr.Options{Reason: "KnownClient"})
//
// # Errors
//
// Each verb wraps its error in one [client.OpError]. A decision is permanent: to approve a request that was denied, or
// to deny one that was approved, is [core.ErrInvalid]. To repeat the same decision is not an error.
//
// # Concurrency
//
// An [API] is immutable and safe for concurrent use. If another client changes the request at the same time, the verb
// reads it again.
package csr
