// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/runtime/internal/apierr"
	"github.com/kube-go/sdk/runtime/watcher"
)

// leaving tracks the deletion of pods. It is safe for concurrent use.
type leaving struct {
	mu      sync.Mutex // guards the fields below
	pods    map[types.UID]*leaver
	trouble error // the last failure of the watch since the last event; or nil
}

// leaver is a pod that is not deleted yet.
type leaver struct {
	gone       chan struct{} // closed when the pod is deleted
	finalizers []string      // as last observed
}

func newLeaving(pods []*Pod) *leaving {
	l := &leaving{pods: map[types.UID]*leaver{}}
	for _, p := range pods {
		l.pods[p.UID] = &leaver{gone: make(chan struct{})}
	}
	return l
}

// of returns a channel that is closed when the pod is deleted.
func (l *leaving) of(uid types.UID) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.pods[uid].gone
}

// why returns the reason why an evicted pod still exists.
func (l *leaving) why(uid types.UID) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	why := "it has not terminated yet"
	if p := l.pods[uid]; p != nil && len(p.finalizers) > 0 {
		why = "it waits for its finalizers " + strings.Join(p.finalizers, ", ")
	} else if l.trouble != nil {
		why = "it was not observed to terminate"
	}
	if l.trouble != nil {
		why += "; last failure of the watch: " + reason(l.trouble)
	}
	return why
}

// failed stores an error of the watch from which it recovers, or nil after an event.
func (l *leaving) failed(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.trouble = err
}

// cause returns the reason why a drain ended early together with the last failure of the watch.
func (l *leaving) cause(reason error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if reason == nil || l.trouble == nil {
		return reason
	}
	return fmt.Errorf("%w; last failure: %w", reason, l.trouble)
}

// seen stores the finalizers of an existing pod.
func (l *leaving) seen(m *metav1.ObjectMeta) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p := l.pods[m.UID]; p != nil {
		p.finalizers = m.Finalizers
	}
}

// goneWhere marks pods as deleted.
func (l *leaving) goneWhere(isGone func(types.UID) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for uid, p := range l.pods {
		if isGone(uid) {
			delete(l.pods, uid)
			close(p.gone)
		}
	}
}

// tryWatch watches the pods of the node until the server has accepted that, so that a missing permission is an error
// before anything changes. The drain itself needs another watch, whose list is not older than its plan.
func (d *drain) tryWatch(ctx context.Context) error {
	trying, opened := context.WithCancel(ctx)
	defer opened()
	l := newLeaving(nil)
	if err := d.watch(trying, l, opened); err != nil {
		return err
	}
	if err := l.cause(context.Cause(ctx)); err != nil {
		return d.watchError(err)
	}
	return nil
}

func (d *drain) watchError(err error) error {
	return fmt.Errorf("watch the pods of node %s: %w", d.node, err)
}

// watch notes which pods are deleted until ctx ends, which is not an error. It calls opened whenever the server has
// accepted the watch. A pod whose labels change is not deleted, so the watch selects by the node only.
func (d *drain) watch(ctx context.Context, l *leaving, opened func()) error {
	watching, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var failure error
	config := &watcher.Options{
		FieldSelector: d.selection().FieldSelector,
		OnError: func(err error) {
			if apierr.Fatal(err) {
				failure = err
				l.failed(nil) // it is the reason
				stop(err)
				return
			}
			l.failed(err)
			slog.Warn("watch error", "resource", "pods", "node", d.node, "err", err)
		},
		OnStatus: func(s watcher.Status) {
			if s.Phase == watcher.Watching {
				opened()
			}
		},
	}
	listed := map[types.UID]bool{}
	for ev, err := range watcher.Events(watching, client.ClusterWide[corev1.Pod](d.client).Metadata().Feed(), config) {
		switch {
		case err != nil && failure == nil:
			return nil // ctx has ended
		case err != nil:
			return d.watchError(failure)
		}
		l.failed(nil)
		switch ev.Type {
		case watcher.Init:
			clear(listed)
		case watcher.InitApply, watcher.Apply:
			m, err := ev.Object.Metadata()
			if err != nil {
				return d.watchError(err)
			}
			listed[m.UID] = true
			l.seen(m)
		case watcher.InitDone:
			l.goneWhere(func(uid types.UID) bool { return !listed[uid] })
		case watcher.Delete:
			l.goneWhere(func(uid types.UID) bool { return uid == ev.Head.UID })
		case watcher.Bookmark:
		}
	}
	return nil
}
