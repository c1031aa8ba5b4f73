// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package terms

import "time"

// logPause is the minimum time between the logs of two different errors of one outage. Each error of a broken
// connection has another port.
const logPause = 10 * time.Second

// Failure is the error of the last request of a kind. The zero value is a success.
type Failure struct {
	Err    error
	logged time.Time
}

// Note takes note of the result of a request, and returns whether its error is to be logged: the first one after a
// success, and later ones that differ.
func (f *Failure) Note(err error) (log bool) {
	switch {
	case err == nil:
	case f.Err == nil:
		log = true
	default:
		log = f.Err.Error() != err.Error() && time.Since(f.logged) >= logPause
	}
	f.Err = err
	if log {
		f.logged = time.Now()
	}
	return log
}
