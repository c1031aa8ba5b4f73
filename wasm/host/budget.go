// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host

import "sync"

// What an operation needs besides its message and its items: buffers of the connection and goroutines for a request,
// and the states of a watch.
const (
	requestCost = 512 << 10
	watchCost   = 128 << 10
	delayCost   = 512
)

// budget limits the memory of the host that a module uses. It is safe for concurrent use.
type budget struct {
	mu    sync.Mutex // guards the fields below
	limit int64
	used  int64
}

// reserve uses n bytes, unless this exceeds the limit.
func (b *budget) reserve(n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.used+n > b.limit {
		return false
	}
	b.used += n
	return true
}

// force uses n bytes, whatever the limit is.
func (b *budget) force(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used += n
}

// free ends the use of n bytes.
func (b *budget) free(n int64) { b.force(-n) }

// inUse returns the number of bytes in use.
func (b *budget) inUse() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}
