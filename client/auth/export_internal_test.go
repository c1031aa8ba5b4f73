// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package auth

import "time"

// Forget lets the source be asked again although it was just asked because of a refusal.
func (k *keeper) Forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.quiet = time.Time{}
}
