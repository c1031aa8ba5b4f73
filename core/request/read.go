// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"math/rand/v2"
	"net/url"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kube-go/sdk/core"
)

// GetOptions are the options of a get.
type GetOptions struct {
	// ResourceVersion asks for a state at least as new as this version; "0" means any state the server has at hand.
	// Default: the newest state.
	ResourceVersion string

	// IncludeObject is how much of the object comes with its row of a [ViewTable]. Default: IncludeMetadata.
	IncludeObject IncludeObject
}

// ListOptions are the options of a list. See https://kubernetes.io/docs/reference/using-api/api-concepts/.
type ListOptions struct {
	LabelSelector string
	FieldSelector string

	// Limit is the most items one page holds. Default for a single page: no limit; for iterators over pages: 500.
	Limit int64
	// Continue is the token of the page before. It goes with neither ResourceVersion nor ResourceVersionMatch.
	Continue string

	// ResourceVersion and ResourceVersionMatch say how new the answer must be. Default: the newest state.
	ResourceVersion      string
	ResourceVersionMatch VersionMatch

	// Timeout bounds the request, in whole seconds: the server ends it with [core.ErrTimeout], and the client ends it too,
	// retries and reading the response included. Iterators over pages apply it to each page. Default: the server's, which
	// is also the longest; Kubernetes uses one minute.
	Timeout time.Duration

	// ShardSelector asks for a part of the objects, so that several programs can share them: the text of a [core.Shard].
	// Kubernetes 1.36 has it behind the feature gate ShardedListAndWatch. Other servers ignore it and send all objects;
	// the client's lists and watches end with an error at the first that is not in the shard.
	ShardSelector string

	// IncludeObject is how much of an object comes with its row of a [ViewTable]. Default: IncludeMetadata.
	IncludeObject IncludeObject
}

// IncludeObject is how much of an object comes with its row of a table.
type IncludeObject string

// How much of an object comes with its row of a table, see
// https://kubernetes.io/docs/reference/using-api/api-concepts/#receiving-resources-as-tables.
const (
	IncludeNone     IncludeObject = "None"
	IncludeMetadata IncludeObject = "Metadata"
	IncludeAll      IncludeObject = "Object"
)

// check refuses what the server does not know, and what it would ignore.
func (i IncludeObject) check(field string, view View) error {
	switch i {
	case "":
		return nil
	case IncludeNone, IncludeMetadata, IncludeAll:
		if view != ViewTable {
			return invalid(field+"IncludeObject", "is for tables; nothing else has rows")
		}
		return nil
	}
	return invalid(field+"IncludeObject", "%q is none of None, Metadata, Object", i)
}

// VersionMatch is how a list's ResourceVersion is meant.
type VersionMatch string

// The ways to match a resource version, see
// https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions.
const (
	NotOlderThan VersionMatch = "NotOlderThan"
	Exact        VersionMatch = "Exact"
)

// WatchOptions are the options of a watch.
type WatchOptions struct {
	LabelSelector string
	FieldSelector string

	// ResourceVersion is where to start: the version of the list or event that came last. Empty or "0" starts with
	// the objects that are there, as synthetic Added events.
	ResourceVersion string

	// Timeout is after how long the server ends the watch, in whole seconds. Default: a random time from 5 to 10
	// minutes, as client-go does it, so that many watches do not end together.
	Timeout time.Duration

	// NoBookmarks declines the events that only tell the newest resource version.
	NoBookmarks bool

	// ShardSelector asks for a part of the objects, see [ListOptions.ShardSelector].
	ShardSelector string

	// SendInitialEvents asks for the objects that are there first, then a bookmark that marks their end, from a state
	// at least as new as ResourceVersion: https://kubernetes.io/docs/reference/using-api/api-concepts/#streaming-lists.
	SendInitialEvents bool

	// IncludeObject is how much of an object comes with its row of a [ViewTable]. Default: IncludeMetadata.
	IncludeObject IncludeObject
}

// Get builds the request for one object.
func Get(t Target, o *GetOptions) (*Request, error) {
	path, err := t.path(needObject)
	if err != nil {
		return nil, err
	}
	q := url.Values{}
	if o != nil {
		if err := o.IncludeObject.check("GetOptions.", t.View); err != nil {
			return nil, err
		}
		set(q, "resourceVersion", o.ResourceVersion)
		set(q, "includeObject", string(o.IncludeObject))
	}
	return &Request{Verb: "get", Method: "GET", Path: path, Query: q, Accept: t.accept(), Target: t}, nil
}

// List builds the request for one page of a collection.
func List(t Target, o *ListOptions) (*Request, error) {
	path, err := t.path(needCollection)
	if err != nil {
		return nil, err
	}
	q := url.Values{}
	if o != nil {
		if err := o.check(t.View); err != nil {
			return nil, err
		}
		o.encode(q)
	}
	return &Request{Verb: "list", Method: "GET", Path: path, Query: q, Accept: t.acceptList(), Target: t}, nil
}

func (o *ListOptions) check(view View) error {
	const field = "ListOptions."
	if err := checkSelectors(field, o.LabelSelector, o.FieldSelector); err != nil {
		return err
	}
	if err := checkShard(field, o.ShardSelector); err != nil {
		return err
	}
	if err := o.IncludeObject.check(field, view); err != nil {
		return err
	}
	switch {
	case o.Timeout < 0 || o.Timeout%time.Second != 0:
		return invalid(field+"Timeout", "%v is not a positive number of whole seconds", o.Timeout)
	case o.Limit < 0:
		return invalid(field+"Limit", "%d is negative; 0 means no limit", o.Limit)
	case o.Continue != "" && (o.ResourceVersion != "" || o.ResourceVersionMatch != ""):
		return invalid(field+"Continue", "goes with no ResourceVersion and no ResourceVersionMatch: the token holds the version")
	case o.ResourceVersionMatch != "" && o.ResourceVersion == "":
		return invalid(field+"ResourceVersionMatch", "needs a ResourceVersion")
	case o.ResourceVersionMatch == Exact && o.ResourceVersion == "0":
		return invalid(field+"ResourceVersionMatch", "Exact needs a ResourceVersion other than 0")
	case o.ResourceVersionMatch != "" && o.ResourceVersionMatch != Exact && o.ResourceVersionMatch != NotOlderThan:
		return invalid(field+"ResourceVersionMatch", "%q is neither Exact nor NotOlderThan", o.ResourceVersionMatch)
	}
	return nil
}

func (o *ListOptions) encode(q url.Values) {
	set(q, "labelSelector", o.LabelSelector)
	set(q, "fieldSelector", o.FieldSelector)
	set(q, "continue", o.Continue)
	set(q, "resourceVersion", o.ResourceVersion)
	set(q, "resourceVersionMatch", string(o.ResourceVersionMatch))
	set(q, "shardSelector", o.ShardSelector)
	set(q, "includeObject", string(o.IncludeObject))
	if o.Limit > 0 {
		q.Set("limit", strconv.FormatInt(o.Limit, 10))
	}
	if o.Timeout > 0 {
		q.Set("timeout", o.Timeout.String()) // timeoutSeconds is for watches
	}
}

// checkSelectors refuses what the server would refuse, by the server's own parsers.
func checkSelectors(field, label, selector string) error {
	if _, err := labels.Parse(label); err != nil {
		return invalid(field+"LabelSelector", "%q is no label selector, such as app=web,tier in (a,b),!old: %v", label, err)
	}
	if _, err := fields.ParseSelector(selector); err != nil {
		return invalid(field+"FieldSelector", "%q is no field selector, such as metadata.name=web,status.phase!=Running: %v", selector, err)
	}
	return nil
}

// checkShard refuses a selector that servers answer with an internal error.
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
	if err := o.IncludeObject.check("WatchOptions.", t.View); err != nil {
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
		return nil, invalid("WatchOptions.SendInitialEvents", "needs bookmarks, since one marks the end of the initial events")
	}
	q := url.Values{"watch": {"true"}, "timeoutSeconds": {seconds(timeout)}}
	set(q, "labelSelector", o.LabelSelector)
	set(q, "fieldSelector", o.FieldSelector)
	set(q, "resourceVersion", o.ResourceVersion)
	set(q, "shardSelector", o.ShardSelector)
	set(q, "includeObject", string(o.IncludeObject))
	if !o.NoBookmarks {
		q.Set("allowWatchBookmarks", "true")
	}
	if o.SendInitialEvents {
		q.Set("sendInitialEvents", "true")
		q.Set("resourceVersionMatch", string(NotOlderThan))
	}
	return &Request{Verb: "watch", Method: "GET", Path: path, Query: q, Accept: t.acceptStream(), Target: t}, nil
}

func set(q url.Values, key, value string) {
	if value != "" {
		q.Set(key, value)
	}
}

func seconds(d time.Duration) string {
	return strconv.FormatInt(int64(d/time.Second), 10)
}
