// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kubetest

import (
	"testing/synctest"
	"time"
)

const (
	// defaultQuiet is how long no object changes in a settled program. It is longer than the usual delays of controllers.
	defaultQuiet = 10 * time.Minute
	// maxSettle is how long Settle waits.
	maxSettle = 4 * time.Hour
	// retries is the part of the quiet time for which Settle waits longer. A program that wakes up at the end of the quiet
	// time, and whose first write fails, needs it for another attempt.
	retries = 20
)

// Settle waits until no object has changed for ten minutes, except for events and leases. It only works in a bubble of
// testing/synctest, where time passes at once. The test fails if objects still change after four hours, which is an
// endless loop of a controller or of several that undo each other's changes. It also fails if clients send more than
// 10,000 requests with the same method and path in a minute before Settle returns, since such a loop lets no time pass.
//
// A program that changes objects periodically, such as every five minutes, never settles. Its tests wait with
// <-time.After and then [synctest.Wait] instead, until a moment at which the program does nothing.
func (s *Server) Settle() {
	s.t.Helper()
	requireBubble(s.t.Fatal)
	quiet := defaultQuiet
	if s.explore != nil && s.explore.scenario.Quiet > 0 {
		quiet = s.explore.scenario.Quiet
	}
	if s.explore == nil {
		defer s.journal.End()
	}
	for range maxSettle / quiet {
		before := s.journal.Begin()
		<-time.After(quiet)
		synctest.Wait()
		if s.endless.Load() {
			s.t.FailNow()
		}
		if s.journal.Changes() != before {
			continue
		}
		<-time.After(quiet / retries)
		synctest.Wait()
		if s.journal.Changes() == before {
			return
		}
	}
	object, n := s.journal.MostChanged()
	remedy := "call time.After and synctest.Wait instead of Settle"
	if s.explore != nil {
		remedy = "set Scenario.Quiet to a shorter time than its period"
	}
	s.t.Fatalf("kubetest: Settle: objects still change after %s: %s has changed %d times in the last %s: "+
		"if the program changes it periodically, %s", maxSettle, object, n, quiet, remedy)
}

// requireBubble fails the test if the caller is not in a bubble.
func requireBubble(fatal func(...any)) {
	defer func() {
		if recover() != nil {
			fatal("kubetest: Settle: call it in a bubble of testing/synctest, where time passes at once: synctest.Test")
		}
	}()
	synctest.Wait()
}
