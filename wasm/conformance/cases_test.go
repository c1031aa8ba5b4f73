// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package conformance_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kube-go/sdk/wasm/host"
)

// claim is a case of the suite for actors: a sentence that wasm/ABI.md makes true.
type claim struct {
	name   string
	limits host.Limits
	only   string // a language, if the claim concerns only guests with or without a scheduler
	run    func(g *guest)
}

// claims returns the cases of all sections.
func claims() []claim {
	return slices.Concat(
		startClaims(), submitClaims(), callClaims(), requestClaims(), cancelClaims(), depthClaims(), delayClaims(),
		watchClaims(), readClaims(), logClaims(), wasiClaims(), failureClaims(),
	)
}

// moduleOf returns the name of the module of a case.
func moduleOf(claim string) string {
	return regexp.MustCompile("[^a-z0-9]+").ReplaceAllString(strings.ToLower(claim), "-")
}

func TestHostKeepsTheInterface(t *testing.T) {
	for _, language := range []string{"Go", "C"} {
		t.Run(language, func(t *testing.T) {
			p := buildProgram(t, language)
			t.Run("actors", func(t *testing.T) { testActors(t, p, claims(), host.Options{IdleAfter: -1}) })
			t.Run("idle actors", func(t *testing.T) {
				testActors(t, p, unloadClaims(), host.Options{IdleAfter: 50 * time.Millisecond})
			})
			t.Run("reconcilers", func(t *testing.T) { testReconcilers(t, p) })
		})
	}
}

func testActors(t *testing.T, p program, claims []claim, o host.Options) {
	t.Helper()
	w := newWorld(t, p, o)
	// It keeps the compiled module, and lives beside the guests that fail.
	witness := w.start(t, host.Module{Name: "witness"})
	t.Cleanup(func() {
		if n := len(witness.reports("start")); n != 1 {
			t.Errorf("the witness has started %d times, want once: other modules must not affect it", n)
		}
	})
	for _, c := range claims {
		if c.only != "" && c.only != p.language {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(w.start(t, host.Module{Name: moduleOf(c.name), Namespace: "home", Limits: c.limits}))
		})
	}
}
