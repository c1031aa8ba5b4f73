// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package fsmtest tests state machines: whether they survive the death of their program at any request, whether tests
// have taken all of their transitions, and whether all states were added.
//
//	func TestDatabase(t *testing.T) {
//		coverage := new(fsmtest.Coverage)
//		fsmtest.Crash(t, fsmtest.Scenario[v1.Database]{
//			Connect: connect, // returns a client of a real or fake server with a middleware
//			Machine: func(c *client.Client) *fsm.Machine[v1.Database] {
//				return database.New(c, &fsm.Options{OnStep: coverage.OnStep})
//			},
//			Create: func(t testing.TB, c *client.Client) *v1.Database { … }, // in a namespace of its own
//		})
//		g := database.New(c, nil).Graph()
//		coverage.Check(t, g)
//		fsmtest.Registered(t, g, ".")
//	}
//
// [Crash] also works in a bubble of testing/synctest, with a client whose transport is a fake server: waits and
// deadlines then take no time.
package fsmtest
