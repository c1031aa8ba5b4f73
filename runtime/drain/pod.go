// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/core"
)

// Pod is one pod of a node, and what became of it.
type Pod struct {
	Ref    core.ObjectRef
	UID    types.UID
	State  State
	Reason string // why it is in this state; empty when the state says it all
}

// String returns, for example, "prod/web-0: evicted".
func (p Pod) String() string {
	if p.Reason == "" {
		return fmt.Sprintf("%s: %s", p.Ref, p.State)
	}
	return fmt.Sprintf("%s: %s: %s", p.Ref, p.State, p.Reason)
}

// State is what became of a pod.
type State string

// The states of a pod.
const (
	Skipped State = "skipped" // it stays, as it should
	Refused State = "refused" // it would be lost; nothing was done to any pod
	Pending State = "pending" // it will be asked to go
	Blocked State = "blocked" // it may not go yet, or could not be asked; that is tried again
	Evicted State = "evicted" // it was asked to go, and is about to end
	Gone    State = "gone"    // it is not there any more
	Failed  State = "failed"  // it could not be asked to go, and trying again would not help
)

// final reports whether nothing more will be done.
func (s State) final() bool {
	return s == Skipped || s == Refused || s == Gone || s == Failed
}

// Error says what keeps a node from being empty.
type Error struct {
	Node string
	Pods []Pod // those that are still there and should not be
	Err  error // what ended the drain before its time; nil when it was refused or came to its end
}

// Error names every pod with the reason.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "drain node %s: ", e.Node)
	if e.Err != nil {
		fmt.Fprintf(&b, "%v; ", e.Err)
	}
	if len(e.Pods) == 1 {
		b.WriteString("1 pod stays")
	} else {
		fmt.Fprintf(&b, "%d pods stay", len(e.Pods))
	}
	separator := ": "
	for _, p := range e.Pods {
		b.WriteString(separator + p.String())
		separator = "; "
	}
	return b.String()
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// failure returns the error that the pods which are still there are, nil when there is none.
func (d *drain) failure(cause error) error {
	var stay []Pod
	for _, p := range d.pods {
		switch {
		case p.State == Refused || p.State == Failed:
			stay = append(stay, *p)
		case !p.State.final() && cause != nil:
			stay = append(stay, *p)
		}
	}
	if len(stay) == 0 {
		return nil
	}
	return &Error{Node: d.node, Pods: stay, Err: cause}
}
