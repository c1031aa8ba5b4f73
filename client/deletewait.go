// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
)

// DeleteAndWait deletes an object and waits until it is gone: until no object of its UID is there any more, even if
// another has taken its name. A connection that breaks and a server that is busy only delay it; give ctx a deadline. It
// takes the right to list and watch, besides that to delete. To wait for the end of what somebody else deletes, see
// package runtime/wait.
//
// Errors: those of [API.Delete]; the context's cause when it ends first, with what holds the object.
func (a *API[K]) DeleteAndWait(ctx context.Context, name string, o *request.DeleteOptions) error {
	t := a.named(name)
	uid, err := a.deleted(ctx, t, o)
	if err == nil {
		err = a.awaitGone(ctx, name, uid)
	}
	return wrap("delete", t, err)
}

// deleted begins the deletion and returns the UID of what is being deleted.
func (a *API[K]) deleted(ctx context.Context, t request.Target, o *request.DeleteOptions) (types.UID, error) {
	if o != nil && o.DryRun {
		return "", &request.InvalidError{Field: "DeleteOptions.DryRun", Detail: "deletes nothing to wait for; use Delete"}
	}
	if err := a.ready(); err != nil {
		return "", err
	}
	t.Encoding = wire.JSON
	resp, err := a.client.send(ctx, t, encoded(t, func(t request.Target) (*request.Request, error) {
		return request.Delete(t, o)
	}))
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := wire.ReadBody(resp.Body, a.client.limits)
	if err != nil {
		return "", err
	}
	var answer struct { // the object that is still there, or a Status about the one that was
		Metadata struct {
			UID types.UID `json:"uid"`
		} `json:"metadata"`
		Details metav1.StatusDetails `json:"details"`
	}
	if err := wire.UnmarshalJSON(body, &answer); err != nil {
		return "", fmt.Errorf("decode the answer: %w", err)
	}
	if answer.Metadata.UID != "" {
		return answer.Metadata.UID, nil
	}
	return answer.Details.UID, nil
}

// awaitGone waits until no object has the name and the UID; an empty UID means any.
func (a *API[K]) awaitGone(ctx context.Context, name string, uid types.UID) error {
	ctx = middleware.WithAttempts(ctx, 1) // this comes back by itself
	w := goneWaiter{feed: a.Metadata().Feed(), selector: fields.OneTermEqualSelector("metadata.name", name).String(), uid: uid}
	for n := 1; ; n++ {
		began := time.Now()
		gone, err := w.follow(ctx)
		switch {
		case gone:
			return nil
		case ctx.Err() != nil:
			return w.unfinished(context.Cause(ctx))
		case err != nil && !core.IsRetryable(err):
			return w.unfinished(err)
		case time.Since(began) > time.Minute:
			n = 1
		}
		if err := pause(ctx, backoff(n, 50*time.Millisecond, 5*time.Second)); err != nil {
			return w.unfinished(err)
		}
	}
}

// goneWaiter waits until an object is gone.
type goneWaiter struct {
	feed     *Feed
	selector string
	uid      types.UID
	holders  []string // the finalizers that the object was seen with last
}

// follow looks whether the object is there, and watches it for as long as the server lets it.
func (w *goneWaiter) follow(ctx context.Context) (gone bool, err error) {
	there := false
	meta, err := w.feed.list(ctx, &request.ListOptions{FieldSelector: w.selector}, func(p wire.Packed) error {
		same, err := w.look(p)
		there = there || same
		return err
	})
	if err != nil || !there {
		return err == nil, err
	}
	var unread error
	watch := &request.WatchOptions{FieldSelector: w.selector, ResourceVersion: meta.ResourceVersion, NoBookmarks: true}
	err = w.feed.watch(ctx, watch, func(ev wire.Event, _ error) bool {
		same, err := w.look(ev.Object)
		unread = err
		gone = err == nil && (!same || ev.Type == core.Deleted)
		return err == nil && !gone
	})
	if outdated(err) {
		err = nil // list again
	}
	return gone, errors.Join(err, unread)
}

// look reports whether an object is the one that is waited for.
func (w *goneWaiter) look(p wire.Packed) (same bool, err error) {
	meta, err := p.Metadata()
	if err != nil {
		return false, err
	}
	w.holders = slices.Clone(meta.Finalizers)
	return w.uid == "" || meta.UID == w.uid, nil
}

// unfinished says in an error what was waited for.
func (w *goneWaiter) unfinished(err error) error {
	if len(w.holders) > 0 {
		return fmt.Errorf("it waits for its finalizers %s: %w", strings.Join(w.holders, ", "), err)
	}
	return fmt.Errorf("it is not gone yet: %w", err)
}
