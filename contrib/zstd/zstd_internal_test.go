// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package zstd

import "testing"

func TestTheSizeOfADictionaryIsBounded(t *testing.T) {
	sized := func(sizes ...int) (samples [][]byte) {
		for _, n := range sizes {
			samples = append(samples, make([]byte, n))
		}
		return samples
	}
	for name, samples := range map[string][][]byte{
		"a large one":       sized(1 << 20),
		"several large":     sized(1<<20, 1<<20, 1<<20, 1<<20, 1<<20),
		"a large of a few":  sized(100, 100, 1<<20),
		"a last one is cut": sized(5000, 5000, 6000, 6000, 6000, 6000),
	} {
		if n := len(dictionaryOf(samples)); n > dictionarySize || n == 0 {
			t.Errorf("%s: the dictionary has %d bytes, want at most %d", name, n, dictionarySize)
		}
	}
}
