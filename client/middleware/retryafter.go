// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package middleware

import (
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// ParseRetryAfter returns the delay that the Retry-After header of a response requests, and reports whether there is
// one. The header contains seconds or a date; a date in the past requests no delay.
func ParseRetryAfter(header http.Header) (time.Duration, bool) {
	value := strings.TrimSpace(header.Get("Retry-After"))
	// After ErrRange, n is the maximum.
	if n, err := strconv.ParseUint(value, 10, 64); err == nil || errors.Is(err, strconv.ErrRange) {
		return time.Duration(min(n, math.MaxInt64/uint64(time.Second))) * time.Second, true
	}
	if t, err := http.ParseTime(value); err == nil {
		return max(0, time.Until(t)), true
	}
	return 0, false
}
