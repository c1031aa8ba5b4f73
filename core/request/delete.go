// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"net/url"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/core/wire"
)

// DeleteOptions are the options of a delete.
type DeleteOptions struct {
	// GracePeriod is the time to terminate, in whole seconds; new(time.Duration(0)) means immediately.
	// Default: that of the kind.
	GracePeriod *time.Duration

	// Propagation is how the delete affects the objects that this one owns, see
	// https://kubernetes.io/docs/concepts/architecture/garbage-collection/. Default: that of the kind.
	Propagation metav1.DeletionPropagation

	// UID and ResourceVersion make the delete fail with a conflict if the object has other ones.
	UID             types.UID
	ResourceVersion string

	DryRun bool // run the request without storing the result

	// IgnoreStoreReadErrorWithClusterBreakingPotential deletes an object that the server can't read any more, without
	// running its finalizers or any other clean-up; see
	// https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/delete-options/.
	IgnoreStoreReadErrorWithClusterBreakingPotential bool
}

const ignoreField = "IgnoreStoreReadErrorWithClusterBreakingPotential"

// Delete builds the request that deletes an object.
func Delete(t Target, o *DeleteOptions) (*Request, error) {
	path, err := t.path(needObject)
	if err != nil {
		return nil, err
	}
	return deletion(t, "delete", path, url.Values{}, o)
}

// DeleteCollection builds the request that deletes every object that the list options select. Options of pages, which
// would limit the deletion to one page, are an error.
func DeleteCollection(t Target, o *DeleteOptions, l *ListOptions) (*Request, error) {
	path, err := t.path(needParent)
	if err != nil {
		return nil, err
	}
	switch {
	case o == nil:
	case o.UID != "" || o.ResourceVersion != "":
		return nil, invalid("DeleteOptions.UID", "and ResourceVersion are for one object, not for a collection; remove them")
	case o.IgnoreStoreReadErrorWithClusterBreakingPotential:
		return nil, invalid("DeleteOptions."+ignoreField, "is not for a collection; delete the objects one by one")
	}
	q := url.Values{}
	if l != nil {
		if l.Limit != 0 || l.Continue != "" { // servers delete one page and report success
			return nil, invalid("ListOptions.Limit", "and Continue are not for deletions, which have no pages; remove them")
		}
		if l.ShardSelector != "" { // a server that ignores it would delete all objects
			return nil, invalid(
				"ListOptions.ShardSelector",
				"is not for deletions; list the shard, and delete its objects one by one",
			)
		}
		if l.OmitManagedFields {
			return nil, invalid("ListOptions.OmitManagedFields", "is not for deletions; remove it")
		}
		if err := l.check(); err != nil {
			return nil, err
		}
		l.encode(q)
	}
	return deletion(t, "deletecollection", path, q, o)
}

func deletion(t Target, verb, path string, q url.Values, o *DeleteOptions) (*Request, error) {
	if err := t.checkWrite(); err != nil {
		return nil, err
	}
	req := &Request{Verb: verb, Method: "DELETE", Path: path, Query: q, Accept: t.accept(), Target: t}
	if o == nil {
		return req, nil
	}
	body, err := o.body("DeleteOptions.")
	if err != nil {
		return nil, err
	}
	data, err := wire.MarshalJSON(body)
	if err != nil {
		return nil, err
	}
	req.Body, req.ContentType, req.Conditional = data, wire.MediaTypeJSON, o.ResourceVersion != ""
	return req, nil
}

// body returns the encoded options. Errors put field before the name of an option.
func (o *DeleteOptions) body(field string) (*metav1.DeleteOptions, error) {
	body := &metav1.DeleteOptions{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"}}
	if o.GracePeriod != nil {
		if *o.GracePeriod < 0 || *o.GracePeriod%time.Second != 0 {
			return nil, invalid(field+"GracePeriod", "%v is not a number of whole seconds", *o.GracePeriod)
		}
		body.GracePeriodSeconds = new(int64(*o.GracePeriod / time.Second))
	}
	switch o.Propagation {
	case "":
	case metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan:
		body.PropagationPolicy = &o.Propagation
	default:
		return nil, invalid(field+"Propagation", "%q is not valid; use Background, Foreground or Orphan", o.Propagation)
	}
	if o.UID != "" || o.ResourceVersion != "" {
		body.Preconditions = &metav1.Preconditions{}
		if o.UID != "" {
			body.Preconditions.UID = &o.UID
		}
		if o.ResourceVersion != "" {
			body.Preconditions.ResourceVersion = &o.ResourceVersion
		}
	}
	if o.DryRun {
		body.DryRun = []string{metav1.DryRunAll}
	}
	if o.IgnoreStoreReadErrorWithClusterBreakingPotential {
		if o.GracePeriod != nil || o.Propagation != "" || body.Preconditions != nil {
			return nil, invalid(
				field+ignoreField,
				"can't be combined with GracePeriod, Propagation, UID or ResourceVersion: the server does not read the object",
			)
		}
		body.IgnoreStoreReadErrorWithClusterBreakingPotential = new(true)
	}
	return body, nil
}
