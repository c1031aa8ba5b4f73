// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package registry

// Waiting returns the number of callers that wait for pulls.
func (s *Store) Waiting() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.pulls {
		n += p.waiting
	}
	return n
}
