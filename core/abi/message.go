// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package abi

import "github.com/go-json-experiment/json/jsontext"

// Startup is the message of [Start].
type Startup struct {
	Module    string            `json:"module"`              // the name of the module in the host
	Namespace string            `json:"namespace,omitempty"` // for requests that name none
	Server    string            `json:"server"`              // identifies the API server; requests need only a path
	Args      []string          `json:"args,omitempty"`
	Env       map[string]string `json:"env,omitempty"`
	Features  []string          `json:"features,omitempty"` // of the host
}

// The profiles of guests.
const (
	ProfileActor      = "actor"      // has goroutines or another scheduler, and keeps its state between calls
	ProfileReconciler = "reconciler" // one function per key, without state between calls
)

// Description describes a guest to its host.
type Description struct {
	ABI         string       `json:"abi"`     // the value of [Module]
	Profile     string       `json:"profile"` // [ProfileActor] or [ProfileReconciler]
	Name        string       `json:"name,omitempty"`
	Version     string       `json:"version,omitempty"`
	Features    []string     `json:"features,omitempty"`    // of the host, without which the guest can't run
	Rules       []Rule       `json:"rules,omitempty"`       // permissions that the guest needs
	Controllers []Controller `json:"controllers,omitempty"` // of a reconciler
}

// Rule is a permission, with the fields of a rule of rbac.authorization.k8s.io/v1.
type Rule struct {
	APIGroups []string `json:"apiGroups"`
	Resources []string `json:"resources"`
	Verbs     []string `json:"verbs"`
}

// Controller is a controller of a reconciler: the host watches its objects and calls [Reconcile] for each key.
type Controller struct {
	Name  string  `json:"name"`
	For   Watch   `json:"for"`
	Owns  []Watch `json:"owns,omitempty"` // a change of an object wakes its controlling owner
	Every int64   `json:"everyMillis,omitempty"`
}

// Request is the head of the message of [OpRequest] and [OpHTTP]; see the document for the bytes around it.
type Request struct {
	Method string              `json:"method"`
	URL    string              `json:"url"` // of OpRequest: a path with a query
	Header map[string][]string `json:"header,omitempty"`
}

// Response is the head of the first item of a request.
type Response struct {
	Status int                 `json:"status"`
	Header map[string][]string `json:"header,omitempty"`
}

// Projections of a [Watch].
const (
	ProjectionFull     = ""         // whole objects
	ProjectionMetadata = "metadata" // only apiVersion, kind and metadata
)

// Watch is the message of [OpWatch], and selects the objects of a [Controller].
type Watch struct {
	Group         string `json:"group"`
	Version       string `json:"version"`
	Kind          string `json:"kind"`
	Resource      string `json:"resource"` // the plural name
	Namespaced    bool   `json:"namespaced"`
	Namespace     string `json:"namespace,omitempty"` // empty for all
	LabelSelector string `json:"labelSelector,omitempty"`
	FieldSelector string `json:"fieldSelector,omitempty"`
	Projection    string `json:"projection,omitempty"`
	KeysOnly      bool   `json:"keysOnly,omitempty"` // the items have no objects; the guest reads them with OpGet
}

// The types of a [Change].
const (
	ChangeSet  = "set"  // the object exists
	ChangeGone = "gone" // the object does not exist
	ChangeSeen = "seen" // no object: the guest has received all changes up to the version; see [FeatureSeen]
)

// FeatureSeen is a feature of hosts that send [ChangeSeen]. A guest assumes that other hosts send changes in the order
// of their versions.
const FeatureSeen = "seen"

// Change is the head of a change in an item of a watch.
type Change struct {
	Type            string `json:"type"`
	Namespace       string `json:"namespace,omitempty"`
	Name            string `json:"name"`
	UID             string `json:"uid,omitempty"`
	ResourceVersion string `json:"resourceVersion,omitempty"`
	Merged          bool   `json:"merged,omitempty"` // the ChangeSet stands for several changes
}

// Delay is the message of [OpDelay].
type Delay struct {
	Millis int64 `json:"millis"`
}

// Get is the message of [OpGet]. The result is the object in JSON.
type Get struct {
	Watch     int64  `json:"watch"` // the id of the OpWatch
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`

	// ResourceVersion is the version of the wanted state. For a number of changed objects, the host has the last two
	// states that it sent to the guest. If it is empty or the host does not have the state, the result is the newest.
	ResourceVersion string `json:"resourceVersion,omitempty"`
}

// List is the message of [OpList]. The result is a [Page].
type List struct {
	Watch         int64  `json:"watch"` // the id of the OpWatch
	Namespace     string `json:"namespace,omitempty"`
	LabelSelector string `json:"labelSelector,omitempty"`
	Limit         int    `json:"limit,omitempty"`    // default 500
	Continue      string `json:"continue,omitempty"` // of the previous page
}

// Page is the result of [OpList].
type Page struct {
	Items    []jsontext.Value `json:"items"`
	Continue string           `json:"continue,omitempty"` // empty on the last page
}

// Error is an item with [FlagError].
type Error struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
}

// Error returns the code and the message.
func (e *Error) Error() string {
	if e.Message == "" {
		return e.Code.String()
	}
	return e.Code.String() + ": " + e.Message
}

// Unwrap returns the code.
func (e *Error) Unwrap() error { return e.Code }

// ReconcileRequest is the message of [Reconcile].
type ReconcileRequest struct {
	Controller string           `json:"controller"`
	Namespace  string           `json:"namespace,omitempty"`
	Name       string           `json:"name"`
	Object     jsontext.Value   `json:"object"`
	Owned      []jsontext.Value `json:"owned,omitempty"` // objects of Controller.Owns that the object owns
}

// ReconcileResponse is the result of [Reconcile]. The host applies the objects, deletes, and patches the status in this
// order, as the identity of the module.
type ReconcileResponse struct {
	Error   string           `json:"error,omitempty"` // the run failed: the host runs the key again after a back-off
	Requeue int64            `json:"requeueAfterMillis,omitempty"`
	Apply   []jsontext.Value `json:"apply,omitempty"` // objects, by server-side apply
	Delete  []Reference      `json:"delete,omitempty"`
	Status  jsontext.Value   `json:"status,omitempty"` // of the reconciled object
	Events  []Event          `json:"events,omitempty"`
}

// Reference names an object to delete.
type Reference struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
	UID        string `json:"uid,omitempty"` // a precondition
}

// Event is an event about the reconciled object.
type Event struct {
	Type    string `json:"type"` // Normal or Warning
	Reason  string `json:"reason"`
	Message string `json:"message"`
}
