// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package oracle_test

import (
	"slices"
	"testing"
	"time"

	"github.com/kube-go/sdk/derive/generate"
)

// BenchmarkCRDs writes the CRDs of each API by kube-derive and by controller-gen, in turn. It reports how long the first takes
// for each second of the second: the median of all pairs, since what else a machine does slows both of a pair down.
//
//	GOWORK=off go test -run '^$' -bench CRDs -benchtime 9x .
func BenchmarkCRDs(b *testing.B) {
	for _, a := range apis() {
		b.Run(a.name, func(b *testing.B) {
			ours, theirs := b.TempDir(), b.TempDir()
			var ratios []float64
			for b.Loop() {
				start := time.Now()
				writeOurs(b, a.packages, ours)
				middle := time.Now()
				writeTheirs(b, a.packages, theirs)
				ratios = append(ratios, float64(middle.Sub(start))/float64(time.Since(middle)))
			}
			slices.Sort(ratios)
			b.ReportMetric(ratios[len(ratios)/2], "ours/theirs")
			b.ReportMetric(0, "ns/op") // of both together, which says nothing
		})
	}
}

// writeOurs writes the CRDs that kube-derive makes into a directory.
func writeOurs(b *testing.B, packages []string, dir string) {
	b.Helper()
	files, err := generate.CRDs(b.Context(), packages, &generate.Options{Out: dir})
	if err != nil {
		b.Fatalf("CRDs: %v", err)
	}
	if _, err := files.Write(); err != nil {
		b.Fatal(err)
	}
}
