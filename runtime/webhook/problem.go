// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"fmt"
	"time"
)

// repeatAfter is the time after which a problem that continues is logged again.
const repeatAfter = time.Hour

// problem is an error of a task that is repeated, as it was logged last.
type problem struct {
	text   string
	logged time.Time
}

// isDue reports whether the result of the task is an error to log: a new one, or one that was logged long ago.
func (p *problem) isDue(err error) bool {
	if err == nil {
		p.text = ""
		return false
	}
	if err.Error() == p.text && time.Since(p.logged) < repeatAfter {
		return false
	}
	p.text, p.logged = err.Error(), time.Now()
	return true
}

// expired returns an error if the end of a certificate has passed.
func expired(until time.Time) error {
	if until.After(time.Now()) {
		return nil
	}
	return fmt.Errorf("the certificate expired at %s", until.Format(time.RFC3339))
}
