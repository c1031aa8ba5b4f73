// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package suggest finds the most similar candidate for a misspelled word.
package suggest

import (
	"strings"
)

// Nearest returns the candidate that is most similar to word, or "" if none is similar.
func Nearest(word string, candidates []string) string {
	best, bestDistance := "", 1<<30
	for _, c := range candidates {
		if d := Distance(strings.ToLower(word), strings.ToLower(c)); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	if bestDistance > max(1, len(best)/3) {
		return Beginning(word, candidates)
	}
	return best
}

// Beginning returns the shortest candidate with the prefix word, such as integer for int. It returns "" if no candidate
// has the prefix, or if word is shorter than three letters.
func Beginning(word string, candidates []string) string {
	shortest := ""
	for _, c := range candidates {
		if len(word) > 2 && strings.HasPrefix(strings.ToLower(c), strings.ToLower(word)) && (shortest == "" || len(c) < len(shortest)) {
			shortest = c
		}
	}
	return shortest
}

// Distance returns the edit distance: the number of letters to add, remove, replace or swap with a neighbor.
func Distance(a, b string) int {
	if a == b {
		return 0
	}
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
