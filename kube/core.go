// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
)

// The vocabulary.
type (
	// Object is what every Kubernetes object can do, see [core.Object].
	Object = core.Object
	// ObjectRef says which object of a known kind is meant, see [core.ObjectRef].
	ObjectRef = core.ObjectRef
	// Resource is what a kind is called on the wire, see [core.Resource].
	Resource = core.Resource
	// List is one answer to a list request, see [core.List].
	List[K any] = core.List[K]
	// WatchEvent is one change of one object, see [core.WatchEvent].
	WatchEvent[K any] = core.WatchEvent[K]
	// EventType is what happened to the object of a watch event, see [core.EventType].
	EventType = core.EventType
	// Shard is a part of the objects of a kind, for ListOptions.ShardSelector, see [core.Shard].
	Shard = core.Shard
	// StatusError is an answer of the server that is not a success, see [core.StatusError].
	StatusError = core.StatusError
	// UnknownKindError says that nothing tells what a type is called on the wire, see [core.UnknownKindError].
	UnknownKindError = core.UnknownKindError
)

// The types of watch events.
const (
	Added    = core.Added
	Modified = core.Modified
	Deleted  = core.Deleted
	Bookmark = core.Bookmark
)

// What a list's resource version and a delete's propagation can be.
const (
	NotOlderThan = request.NotOlderThan
	Exact        = request.Exact

	Background = request.Background
	Foreground = request.Foreground
	Orphan     = request.Orphan
)

// What field validation can be.
const (
	ValidationStrict = request.ValidationStrict
	ValidationWarn   = request.ValidationWarn
	ValidationIgnore = request.ValidationIgnore
)

// The reasons a server gives for saying no, for errors.Is.
var (
	ErrBadRequest           = core.ErrBadRequest
	ErrUnauthorized         = core.ErrUnauthorized
	ErrForbidden            = core.ErrForbidden
	ErrNotFound             = core.ErrNotFound
	ErrMethodNotAllowed     = core.ErrMethodNotAllowed
	ErrNotAcceptable        = core.ErrNotAcceptable
	ErrAlreadyExists        = core.ErrAlreadyExists
	ErrConflict             = core.ErrConflict
	ErrGone                 = core.ErrGone
	ErrExpired              = core.ErrExpired
	ErrTooLarge             = core.ErrTooLarge
	ErrUnsupportedMediaType = core.ErrUnsupportedMediaType
	ErrInvalid              = core.ErrInvalid
	ErrTooManyRequests      = core.ErrTooManyRequests
	ErrInternal             = core.ErrInternal
	ErrServerTimeout        = core.ErrServerTimeout
	ErrTimeout              = core.ErrTimeout
	ErrUnavailable          = core.ErrUnavailable
	ErrStoreRead            = core.ErrStoreRead
)

// RetryAfter returns how long to wait before the request is tried again, if the server asked for a wait, see
// [core.RetryAfter].
func RetryAfter(err error) (time.Duration, bool) { return core.RetryAfter(err) }

// IsRetryable reports whether the same request may well succeed when it is sent again later, see [core.IsRetryable].
func IsRetryable(err error) bool { return core.IsRetryable(err) }

// ResourceOfObject returns what the kind of an object's type is called on the wire, see [core.ResourceOfObject].
func ResourceOfObject(obj Object) (Resource, error) { return core.ResourceOfObject(obj) }

// ResourceOf returns what K is called on the wire, see [core.ResourceOf].
func ResourceOf[K any, P core.ObjectPtr[K]]() (Resource, error) { return core.ResourceOf[K, P]() }

// ShardOf returns one of a number of equal shards, see [core.ShardOf].
func ShardOf(index, count int) (*Shard, error) { return core.ShardOf(index, count) }

// ParseShard reads a shard selector, see [core.ParseShard].
func ParseShard(selector string) (*Shard, error) { return core.ParseShard(selector) }

// RefOf returns the reference of an object, see [core.RefOf].
func RefOf(obj metav1.Object) ObjectRef { return core.RefOf(obj) }

// ControllerRef returns the owner reference that makes owner the controller of an object, see [core.ControllerRef].
func ControllerRef(owner Object) (metav1.OwnerReference, error) { return core.ControllerRef(owner) }

// OwnerRef returns an owner reference to owner, see [core.OwnerRef].
func OwnerRef(owner Object) (metav1.OwnerReference, error) { return core.OwnerRef(owner) }
