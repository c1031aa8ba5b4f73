// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
)

// Conflict is a field that an apply sets and that another manager owns with another value.
type Conflict struct {
	Field       string // such as .spec.containers[name="web"].image
	Manager     string // empty if the server's message does not name it
	Subresource string // through which the manager wrote it; empty for the object itself

	// APIVersion and Time are those of the write if it was an update, and zero if it was an apply. Time is also zero if
	// the server does not send it; Kubernetes 1.36 does not.
	APIVersion string
	Time       time.Time
}

// String returns, for example, `.spec.replicas is owned by "scaler", which updated it through scale at
// 2026-01-02T15:04:05Z`.
func (c Conflict) String() string {
	if c.Manager == "" {
		return c.Field + " is owned by another manager"
	}
	text := fmt.Sprintf("%s is owned by %q", c.Field, c.Manager)
	through := ""
	if c.Subresource != "" {
		through = " through " + c.Subresource
	}
	switch {
	case c.APIVersion == "" && through != "":
		text += ", which applied it" + through
	case c.APIVersion != "":
		text += ", which updated it" + through
		if !c.Time.IsZero() {
			text += " at " + c.Time.UTC().Format(time.RFC3339)
		}
	}
	return text
}

// Conflicts returns the fields that made an apply conflict, with their owners. It returns none if err is another error,
// such as a conflict of resource versions.
func Conflicts(err error) []Conflict {
	se, ok := errors.AsType[*core.StatusError](err)
	if !ok || !errors.Is(se, core.ErrConflict) || se.Status.Details == nil {
		return nil
	}
	var conflicts []Conflict
	for _, cause := range se.Status.Details.Causes {
		if cause.Type == metav1.CauseTypeFieldManagerConflict {
			conflicts = append(conflicts, parseConflict(cause))
		}
	}
	return conflicts
}

// parseConflict reads a message such as: conflict with "a" with subresource "status" using v1 at 2026-01-02T15:04:05Z.
// The part after the manager's name exists only for updates.
func parseConflict(cause metav1.StatusCause) Conflict {
	c := Conflict{Field: cause.Field}
	rest, ok := strings.CutPrefix(cause.Message, "conflict with ")
	if !ok {
		return c
	}
	if c.Manager, rest, ok = cutQuoted(rest); !ok {
		return c
	}
	if after, ok := strings.CutPrefix(rest, " with subresource "); ok {
		c.Subresource, rest, _ = cutQuoted(after)
	}
	if after, ok := strings.CutPrefix(rest, " using "); ok {
		version, at, _ := strings.Cut(after, " at ")
		c.APIVersion = version
		if t, err := time.Parse(time.RFC3339, at); err == nil {
			c.Time = t
		}
	}
	return c
}

// cutQuoted cuts a quoted string off the start of another.
func cutQuoted(s string) (text, rest string, ok bool) {
	quoted, err := strconv.QuotedPrefix(s)
	if err != nil {
		return "", s, false
	}
	text, err = strconv.Unquote(quoted)
	return text, s[len(quoted):], err == nil
}
