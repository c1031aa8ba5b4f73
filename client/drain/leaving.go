// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
)

// leaving knows of each pod whether it is gone. It is safe for concurrent use.
type leaving struct {
	mu   sync.Mutex // guards pods
	pods map[types.UID]*leaver
}

// leaver is a pod that is to go.
type leaver struct {
	gone       chan struct{} // closed when it is gone
	finalizers []string      // that it was seen with last
}

func newLeaving(pods []*Pod) *leaving {
	l := &leaving{pods: map[types.UID]*leaver{}}
	for _, p := range pods {
		l.pods[p.UID] = &leaver{gone: make(chan struct{})}
	}
	return l
}

// of returns a channel that is closed when the pod is gone.
func (l *leaving) of(uid types.UID) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.pods[uid].gone
}

// why returns why a pod that was asked to go is still there.
func (l *leaving) why(uid types.UID) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p := l.pods[uid]; p != nil && len(p.finalizers) > 0 {
		return "it waits for its finalizers " + strings.Join(p.finalizers, ", ")
	}
	return "it has been asked to go, and has not ended yet"
}

// seen notes that a pod is there.
func (l *leaving) seen(m *metav1.ObjectMeta) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p := l.pods[m.UID]; p != nil {
		p.finalizers = m.Finalizers
	}
}

// goneWhere notes which pods are gone.
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

// watch notes which pods are gone until ctx ends, which is no error.
func (d *drain) watch(ctx context.Context, l *leaving) error {
	feed := client.ClusterWide[pod](d.client).Metadata().Feed()
	for n := 1; ; n++ {
		began := time.Now()
		err := d.follow(ctx, feed, l)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && !core.IsRetryable(err):
			return err
		case time.Since(began) > time.Minute:
			n = 1
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(backoff(n, 100*time.Millisecond, 5*time.Second)):
		}
	}
}

// follow lists the pods of the node and watches them for as long as the server lets it.
func (d *drain) follow(ctx context.Context, feed *client.Feed, l *leaving) error {
	there := map[types.UID]bool{}
	opts := d.selection()
	opts.LabelSelector = "" // a pod that is not selected any more is not gone
	meta, err := feed.List(ctx, opts, func(p wire.Packed) error {
		m, err := p.Metadata()
		if err == nil {
			there[m.UID] = true
			l.seen(m)
		}
		return err
	})
	if err != nil {
		return err
	}
	l.goneWhere(func(uid types.UID) bool { return !there[uid] })
	watch := &request.WatchOptions{FieldSelector: opts.FieldSelector, ResourceVersion: meta.ResourceVersion, NoBookmarks: true}
	for ev, err := range feed.Watch(ctx, watch) {
		switch {
		case errors.Is(err, core.ErrExpired), errors.Is(err, core.ErrGone): // the resource version is too old: list again
			return nil
		case err != nil:
			return err
		}
		m, err := ev.Object.Metadata()
		if err != nil {
			return err
		}
		if l.seen(m); ev.Type == core.Deleted {
			l.goneWhere(func(uid types.UID) bool { return uid == m.UID })
		}
	}
	return nil
}
