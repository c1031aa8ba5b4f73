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

// RetryAfter returns how long the header of an answer asks to wait before the request is sent again, and whether it
// asks at all. It may ask in seconds or by a date; one that has passed asks for no wait.
func RetryAfter(header http.Header) (time.Duration, bool) {
	value := strings.TrimSpace(header.Get("Retry-After"))
	if n, err := strconv.ParseUint(value, 10, 64); err == nil || errors.Is(err, strconv.ErrRange) { // which gives the largest
		return time.Duration(min(n, math.MaxInt64/uint64(time.Second))) * time.Second, true
	}
	if t, err := http.ParseTime(value); err == nil {
		return max(0, time.Until(t)), true
	}
	return 0, false
}
