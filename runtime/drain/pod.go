// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/core"
)

// Pod is the state of one pod of a node.
type Pod struct {
	Ref    core.ObjectRef
	UID    types.UID
	State  State
	Reason string // the reason for the state, or empty
}

// String returns, for example, "prod/web-0: evicted".
func (p Pod) String() string {
	if p.Reason == "" {
		return fmt.Sprintf("%s: %s", p.Ref, p.State)
	}
	return fmt.Sprintf("%s: %s: %s", p.Ref, p.State, p.Reason)
}

// State is the state of a pod during a drain.
type State string

// The states of a pod.
const (
	Skipped State = "skipped" // the pod is not evicted, according to the options
	Refused State = "refused" // the pod would be lost; no pod was evicted
	Pending State = "pending" // the pod is not evicted yet
	Blocked State = "blocked" // a budget forbids the eviction, or it failed; it is repeated
	Evicted State = "evicted" // the eviction succeeded, and the pod is terminating
	Gone    State = "gone"    // the pod is deleted
	Failed  State = "failed"  // the eviction failed, and repeating it does not help
)

// final reports whether the state does not change any more.
func (s State) final() bool {
	return s == Skipped || s == Refused || s == Gone || s == Failed
}

// Error is the error of a drain after which pods remain.
type Error struct {
	Node string
	Pods []Pod // the pods that remain
	Err  error // the reason why the drain ended early, and the last failure of its watch; nil if it refused or completed
}

// Error names every remaining pod and the reason.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "drain node %s: ", e.Node)
	if e.Err != nil {
		fmt.Fprintf(&b, "%v; ", e.Err)
	}
	if len(e.Pods) == 1 {
		b.WriteString("1 pod remains")
	} else {
		fmt.Fprintf(&b, "%d pods remain", len(e.Pods))
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

// failure returns an error for the remaining pods, or nil.
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
