// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
)

// Write is a successful write of an object.
type Write struct {
	Server   string // its URL, see [Client.Server]
	Resource core.Resource

	// Object is the object in the response. It belongs to the caller of the verb. If Deleted is true, it has only the
	// namespace, the name and the UID, and also the deletion timestamp if the write was not a delete: then an earlier
	// delete, perhaps by another client, has begun the deletion.
	Object core.Object

	// Base is the resource version that the object had until this write, if the request required it, so that no other
	// write lies between the two. It is "0" if the write created the object. Otherwise it is empty.
	Base string

	// Deleted is true if the write has removed the object: a delete, or a write that removed the last finalizer of an
	// object that was being deleted. A delete that only begins the deletion, because the object has finalizers or a
	// grace period, is a write of the object with its deletion timestamp.
	Deleted bool
}

// observerKey is the key of a context's observer of writes.
type observerKey struct{}

// WithWriteObserver returns a context with an observer of writes, in addition to the observers of ctx. The verbs of
// [API] and [Subresource] that create, update, patch, apply or delete an object call it with their context before they
// return; it must not retain the object. It is not called for DeleteCollection, for evictions and bindings of package client/pod, or for
// objects that the server does not store, such as dry runs and reviews. It is for code that must know which writes a
// cache has to observe.
func WithWriteObserver(ctx context.Context, observe func(context.Context, Write)) context.Context {
	told := observe
	if outer, ok := ctx.Value(observerKey{}).(func(context.Context, Write)); ok {
		told = func(ctx context.Context, w Write) {
			observe(ctx, w)
			outer(ctx, w)
		}
	}
	return context.WithValue(ctx, observerKey{}, told)
}

// tellObserver calls the observer of ctx, if any, with the object in the response to a write.
func (c *Client) tellObserver(ctx context.Context, r *request.Request, obj core.Object, created bool) {
	observe, ok := ctx.Value(observerKey{}).(func(context.Context, Write))
	switch {
	case !ok || obj.GetResourceVersion() == "":
	case isRemoved(r.Target.Resource, obj):
		observe(ctx, c.removal(r.Target.Resource, &metav1.ObjectMeta{
			Namespace: obj.GetNamespace(), Name: obj.GetName(), UID: obj.GetUID(),
			DeletionTimestamp: obj.GetDeletionTimestamp(),
		}))
	default:
		observe(ctx, Write{Server: c.Server(), Resource: r.Target.Resource, Object: obj, Base: baseOf(r, created)})
	}
}

// removal returns the write that has removed an object.
func (c *Client) removal(res core.Resource, meta *metav1.ObjectMeta) Write {
	return Write{
		Server: c.Server(), Resource: res, Deleted: true, Object: &metav1.PartialObjectMetadata{ObjectMeta: *meta},
	}
}

// isRemoved reports whether a server removes an object that a write has left in this state: its deletion has begun, and
// neither finalizers nor a grace period delay it. The response has the version before the removal. Namespaces also have
// finalizers in their spec.
func isRemoved(res core.Resource, obj core.Object) bool {
	grace := obj.GetDeletionGracePeriodSeconds()
	return obj.GetDeletionTimestamp() != nil && len(obj.GetFinalizers()) == 0 && (grace == nil || *grace == 0) &&
		obj.GetUID() != "" && (res.Group != "" || res.Plural != "namespaces")
}

// baseOf returns the resource version that an object had until a write, see [Write].
func baseOf(r *request.Request, created bool) string {
	switch {
	case created && r.Target.Subresource == "":
		return "0"
	case !r.Conditional:
		return ""
	}
	contentType := r.ContentType
	if contentType != wire.MediaTypeProtobuf { // it is the type of a patch, or of apply
		contentType = wire.MediaTypeJSON
	}
	var head metav1.PartialObjectMetadata
	if err := wire.Unmarshal(r.Body, contentType, &head); err != nil { // it is a JSON patch
		return ""
	}
	return head.ResourceVersion
}

// observeDelete calls the observer of ctx with the response to a delete. If the object is removed, the response is a
// Status with its UID or, for some kinds, the object. If the deletion has only begun, the response is the object with
// its deletion timestamp. A response that is neither has nothing to observe.
func (e *endpoint) observeDelete(ctx context.Context, t request.Target, resp *http.Response) {
	observe, ok := ctx.Value(observerKey{}).(func(context.Context, Write))
	if !ok {
		return
	}
	body, err := wire.ReadBody(resp.Body, e.client.limits)
	if err != nil {
		return
	}
	removed, contentType := &metav1.ObjectMeta{Namespace: t.Namespace, Name: t.Name}, resp.Header.Get("Content-Type")
	obj, status := e.blank(), wire.UnmarshalStatus(body, contentType)
	switch {
	case status != nil && status.Details != nil:
		removed.UID = status.Details.UID
	case status != nil || wire.Unmarshal(body, contentType, obj) != nil || obj.GetResourceVersion() == "":
		return
	case obj.GetDeletionTimestamp() != nil && !isRemoved(t.Resource, obj):
		observe(ctx, Write{Server: e.client.Server(), Resource: t.Resource, Object: obj})
		return
	default:
		removed.UID = obj.GetUID()
	}
	if removed.UID != "" {
		observe(ctx, e.client.removal(t.Resource, removed))
	}
}
