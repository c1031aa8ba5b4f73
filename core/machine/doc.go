// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package machine defines the status fields that a state machine of runtime/fsm writes. It is a package of its own so
// that the package of a kind imports nothing else.
//
//	type DatabaseStatus struct {
//		machine.Status `json:",inline"`
//
//		Endpoint string `json:"endpoint,omitempty"`
//	}
package machine

//go:generate go run ../../derive/cmd/kube-derive deepcopy .
