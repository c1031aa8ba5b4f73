// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/kubetest/internal/store"
)

const (
	// bookmarkInterval is the time between two bookmarks of a watch, as in a real server.
	bookmarkInterval = time.Minute
	// watchTimeout ends a watch without a timeout. A real server uses 30 to 60 minutes.
	watchTimeout = 30 * time.Minute
)

// watcher sends the events of one watch.
type watcher struct {
	*call
	selection *selection
	form      form
	bookmarks bool
	reader    *store.Reader
	version   uint64 // events up to it are sent
}

// watch sends events until the client or the timeout ends the watch.
func (c *call) watch(o *internalversion.ListOptions, s *selection, f form) error {
	from, err := parseVersion(o.ResourceVersion)
	if err != nil {
		return err
	}
	streaming := o.SendInitialEvents != nil && *o.SendInitialEvents
	w := &watcher{call: c, selection: s, form: f, bookmarks: o.AllowWatchBookmarks, version: from}
	lists := from == 0 && o.SendInitialEvents == nil || streaming
	if newest := c.Store.Version(); lists && from > newest {
		return tooLarge(from, newest)
	}
	var initial []*unstructured.Unstructured
	var expired error
	switch {
	case lists || from == 0:
		w.reader, _ = c.Store.Read(0) // the newest version is not expired
		if initial, w.version = w.reader.List(c.kind.stored()); !lists {
			initial = nil
		}
	default:
		w.reader, expired = c.Store.Read(from)
	}
	c.w.Header().Set("Content-Type", "application/json")
	c.w.WriteHeader(http.StatusOK)
	if expired != nil {
		w.fail(expired)
		return nil
	}
	defer w.reader.Close()
	for _, obj := range initial {
		if s.has(obj) {
			w.send(watch.Added, obj)
		}
	}
	if streaming && w.bookmarks {
		w.bookmark(map[string]any{metav1.InitialEventsAnnotationKey: "true"})
	}
	w.flush()
	w.follow(o)
	return nil
}

// follow sends the changes that come, until the definition of the kind changes what is served.
func (w *watcher) follow(o *internalversion.ListOptions) {
	timeout := watchTimeout
	if o.TimeoutSeconds != nil && *o.TimeoutSeconds > 0 {
		timeout = time.Duration(*o.TimeoutSeconds) * time.Second
	}
	end := time.After(timeout)
	bookmarks := time.NewTicker(bookmarkInterval)
	defer bookmarks.Stop()
	for {
		changes, upTo, more, err := w.reader.Changes(w.kind.stored(), w.holds())
		if err != nil {
			w.fail(err)
			return
		}
		served := w.kinds.find(w.kind.GroupVersionResource())
		if served != nil && served != w.kind { // its definition has changed: the next watch sends the changes
			return
		}
		for _, change := range changes {
			w.change(change)
		}
		w.version = upTo
		if len(changes) > 0 {
			w.flush()
		}
		if served == nil { // its definition is deleted
			return
		}
		select {
		case <-more:
		case <-bookmarks.C:
			if w.bookmarks {
				w.bookmark(nil)
				w.flush()
			}
		case <-end:
			return
		case <-w.Context().Done():
			return
		}
	}
}

// change sends the event of a change for the selection. An object that it does not select any more is deleted for the
// client.
func (w *watcher) change(c store.Change) {
	switch before, after := w.selection.has(c.Old), w.selection.has(c.New); {
	case before && after:
		w.send(watch.Modified, c.New)
	case after:
		w.send(watch.Added, c.New)
	case before:
		w.send(watch.Deleted, store.WithVersion(c.Old, c.Version))
	}
}

func (w *watcher) send(t watch.EventType, obj *unstructured.Unstructured) {
	obj, err := w.kind.convert(obj)
	if err != nil {
		w.fail(err)
		return
	}
	w.write(t, w.form.of(obj))
}

// bookmark sends the version up to which the watch is complete.
func (w *watcher) bookmark(annotations map[string]any) {
	metadata := map[string]any{"resourceVersion": strconv.FormatUint(w.version, 10), "creationTimestamp": nil}
	if annotations != nil {
		metadata["annotations"] = annotations
	}
	w.write(watch.Bookmark, w.form.of(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": w.kind.APIVersion(), "kind": w.kind.Kind, "metadata": metadata,
	}}))
}

// fail ends the watch with an error.
func (w *watcher) fail(err error) {
	if errors.Is(err, core.ErrExpired) {
		err = apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", w.version, w.Store.Version()))
	}
	w.write(watch.Error, statusOf(err))
	w.flush()
}

// write writes an event. A client that is gone ends the watch through the context.
func (w *watcher) write(t watch.EventType, object any) {
	_ = json.NewEncoder(w.w).Encode(map[string]any{"type": t, "object": object})
}

func (w *watcher) flush() { _ = http.NewResponseController(w.w).Flush() }
