// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"math/rand/v2"
	"net/url"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kube-go/sdk/core"
)

// GetOptions are the options of a get.
type GetOptions struct {
	// ResourceVersion asks for a state at least as new as this version; "0" accepts any state in the server's cache.
	// Default: the newest state.
	ResourceVersion string
}

// ListOptions are the options of a list. See https://kubernetes.io/docs/reference/using-api/api-concepts/.
type ListOptions struct {
	LabelSelector string
	FieldSelector string

	// Limit is the largest number of items in a page. Default for a single page: no limit; for iterators over pages:
	// 500. A page of large objects that are processed slowly must be small, see client.API.All.
	Limit int64
	// Continue is the token of the previous page. It can't be combined with ResourceVersion or ResourceVersionMatch.
	Continue string

	// ResourceVersion and ResourceVersionMatch select the state to list. Default: the newest.
	ResourceVersion      string
	ResourceVersionMatch metav1.ResourceVersionMatch

	// Timeout bounds the request, in whole seconds: the server ends it with [core.ErrTimeout], and the client ends it
	// too, retries and reading the response included. Iterators over pages apply it to each page. Default: the
	// server's, which is also the longest; Kubernetes uses one minute.
	Timeout time.Duration

	// ShardSelector selects a subset of the objects, so that several programs can share the work: the string of a
	// [core.Shard]. Kubernetes 1.36 has it behind the feature gate ShardedListAndWatch. Other servers ignore it and
	// send all objects; lists and watches of the client return an error for the first object that is not in the shard.
	ShardSelector string

	// OmitManagedFields asks the server to omit metadata.managedFields, which can be half of an object. Kubernetes 1.38
	// has it behind the feature gate ManagedFieldsOptOut. Other servers ignore it and send them.
	OmitManagedFields bool
}

// WatchOptions are the options of a watch.
type WatchOptions struct {
	LabelSelector string
	FieldSelector string

	// ResourceVersion is where to start: the version of the last list or event. Empty or "0" starts with the existing
	// objects, as synthetic Added events.
	ResourceVersion string

	// Timeout is the time after which the server ends the watch, in whole seconds. Default: a random time from 5 to 10
	// minutes, as client-go does it, so that many watches do not end together.
	Timeout time.Duration

	// NoBookmarks disables the events that have only the newest resource version.
	NoBookmarks bool

	// ShardSelector selects a subset of the objects, see [ListOptions.ShardSelector].
	ShardSelector string

	// OmitManagedFields asks the server to omit metadata.managedFields, see [ListOptions.OmitManagedFields].
	OmitManagedFields bool

	// SendInitialEvents asks for the existing objects first, then a bookmark that marks their end, from a state
	// at least as new as ResourceVersion: https://kubernetes.io/docs/reference/using-api/api-concepts/#streaming-lists.
	SendInitialEvents bool
}

// Get builds the request for one object.
func Get(t Target, o *GetOptions) (*Request, error) {
	path, err := t.path(needObject)
	if err != nil {
		return nil, err
	}
	q := url.Values{}
	if o != nil {
		set(q, "resourceVersion", o.ResourceVersion)
	}
	return &Request{Verb: "get", Method: "GET", Path: path, Query: q, Accept: t.accept(), Target: t}, nil
}

// List builds the request for one page of a collection.
func List(t Target, o *ListOptions) (*Request, error) {
	path, err := t.path(needCollection)
	if err != nil {
		return nil, err
	}
	q, accept := url.Values{}, t.acceptList()
	if o != nil {
		if err := o.check(); err != nil {
			return nil, err
		}
		o.encode(q)
		if o.OmitManagedFields {
			accept = omitManagedFields(accept)
		}
	}
	return &Request{Verb: "list", Method: "GET", Path: path, Query: q, Accept: accept, Target: t}, nil
}

func (o *ListOptions) check() error {
	const field = "ListOptions."
	if err := checkSelectors(field, o.LabelSelector, o.FieldSelector); err != nil {
		return err
	}
	if err := checkShard(field, o.ShardSelector); err != nil {
		return err
	}
	switch {
	case o.Timeout < 0 || o.Timeout%time.Second != 0:
		return invalid(field+"Timeout", "%v is not a positive number of whole seconds", o.Timeout)
	case o.Limit < 0:
		return invalid(field+"Limit", "%d is negative; 0 means no limit", o.Limit)
	case o.Continue != "" && (o.ResourceVersion != "" || o.ResourceVersionMatch != ""):
		return invalid(
			field+"Continue",
			"can't be combined with ResourceVersion or ResourceVersionMatch: the token has the version",
		)
	case o.ResourceVersionMatch != "" && o.ResourceVersion == "":
		return invalid(field+"ResourceVersionMatch", "needs a ResourceVersion")
	case o.ResourceVersionMatch == metav1.ResourceVersionMatchExact && o.ResourceVersion == "0":
		return invalid(field+"ResourceVersionMatch", "Exact needs a ResourceVersion other than 0")
	}
	switch o.ResourceVersionMatch {
	case "", metav1.ResourceVersionMatchExact, metav1.ResourceVersionMatchNotOlderThan:
		return nil
	}
	return invalid(field+"ResourceVersionMatch", "%q is not valid; use Exact or NotOlderThan", o.ResourceVersionMatch)
}

func (o *ListOptions) encode(q url.Values) {
	set(q, "labelSelector", o.LabelSelector)
	set(q, "fieldSelector", o.FieldSelector)
	set(q, "continue", o.Continue)
	set(q, "resourceVersion", o.ResourceVersion)
	set(q, "resourceVersionMatch", string(o.ResourceVersionMatch))
	set(q, "shardSelector", o.ShardSelector)
	if o.Limit > 0 {
		q.Set("limit", strconv.FormatInt(o.Limit, 10))
	}
	if o.Timeout > 0 {
		q.Set("timeout", o.Timeout.String()) // timeoutSeconds is for watches
	}
}

// checkSelectors refuses invalid selectors with the parsers of the server.
func checkSelectors(field, label, selector string) error {
	if _, err := labels.Parse(label); err != nil {
		return invalid(
			field+"LabelSelector",
			"%q is not a valid label selector, such as app=web,tier in (a,b),!old: %v",
			label,
			err,
		)
	}
	if _, err := fields.ParseSelector(selector); err != nil {
		return invalid(
			field+"FieldSelector",
			"%q is not a valid field selector, such as metadata.name=web,status.phase!=Running: %v",
			selector,
			err,
		)
	}
	return nil
}

// checkShard refuses a selector for which servers respond with an internal error.
func checkShard(field, selector string) error {
	if selector == "" {
		return nil
	}
	if _, err := core.ParseShard(selector); err != nil {
		return invalid(field+"ShardSelector", "%v", err)
	}
	return nil
}

// Watch builds the request for a stream of changes.
func Watch(t Target, o *WatchOptions) (*Request, error) {
	path, err := t.path(needCollection)
	if err != nil {
		return nil, err
	}
	if o == nil {
		o = &WatchOptions{}
	}
	if err := checkSelectors("WatchOptions.", o.LabelSelector, o.FieldSelector); err != nil {
		return nil, err
	}
	if err := checkShard("WatchOptions.", o.ShardSelector); err != nil {
		return nil, err
	}
	timeout := o.Timeout
	switch {
	case timeout == 0:
		timeout = 5*time.Minute + time.Duration(rand.Int64N(300))*time.Second
	case timeout < 0 || timeout%time.Second != 0:
		return nil, invalid("WatchOptions.Timeout", "%v is not a positive number of whole seconds", timeout)
	}
	if o.SendInitialEvents && o.NoBookmarks {
		return nil, invalid(
			"WatchOptions.SendInitialEvents",
			"needs bookmarks, since one marks the end of the initial events",
		)
	}
	q := url.Values{"watch": {"true"}, "timeoutSeconds": {seconds(timeout)}}
	set(q, "labelSelector", o.LabelSelector)
	set(q, "fieldSelector", o.FieldSelector)
	set(q, "resourceVersion", o.ResourceVersion)
	set(q, "shardSelector", o.ShardSelector)
	if !o.NoBookmarks {
		q.Set("allowWatchBookmarks", "true")
	}
	if o.SendInitialEvents {
		q.Set("sendInitialEvents", "true")
		q.Set("resourceVersionMatch", string(metav1.ResourceVersionMatchNotOlderThan))
	}
	accept := t.acceptStream()
	if o.OmitManagedFields {
		accept = omitManagedFields(accept)
	}
	return &Request{Verb: "watch", Method: "GET", Path: path, Query: q, Accept: accept, Target: t}, nil
}

func set(q url.Values, key, value string) {
	if value != "" {
		q.Set(key, value)
	}
}

func seconds(d time.Duration) string {
	return strconv.FormatInt(int64(d/time.Second), 10)
}
