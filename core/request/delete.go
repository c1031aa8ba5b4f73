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

// DeletionPropagation is what a delete does to the objects that the deleted one owns.
type DeletionPropagation = metav1.DeletionPropagation

// The ways of propagation, see https://kubernetes.io/docs/concepts/architecture/garbage-collection/.
const (
	Background = metav1.DeletePropagationBackground
	Foreground = metav1.DeletePropagationForeground
	Orphan     = metav1.DeletePropagationOrphan
)

// DeleteOptions are the options of a delete.
type DeleteOptions struct {
	// GracePeriod is how long the object may take to end, in whole seconds; new(time.Duration(0)) means at once.
	// Default: the kind's own.
	GracePeriod *time.Duration

	// Propagation says what becomes of the objects that this one owns. Default: the kind's own.
	Propagation DeletionPropagation

	// UID and ResourceVersion make the delete fail with a conflict when the object is another one by now.
	UID             types.UID
	ResourceVersion string

	DryRun bool // go through everything but the storing

	// IgnoreStoreReadErrorWithClusterBreakingPotential deletes an object that the server can't read any more, without its
	// finalizers and whatever else would have been cleaned up; see
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

// DeleteCollection builds the request that deletes every object that the list options select.
func DeleteCollection(t Target, o *DeleteOptions, l *ListOptions) (*Request, error) {
	path, err := t.path(needParent)
	if err != nil {
		return nil, err
	}
	switch {
	case o == nil:
	case o.UID != "" || o.ResourceVersion != "":
		return nil, invalid("DeleteOptions.UID", "and ResourceVersion mean one object; they go with no collection")
	case o.IgnoreStoreReadErrorWithClusterBreakingPotential:
		return nil, invalid("DeleteOptions."+ignoreField, "goes with no collection; delete the objects one by one")
	}
	q := url.Values{}
	if l != nil {
		if l.ShardSelector != "" { // a server that does not know it would delete all there is
			return nil, invalid("ListOptions.ShardSelector", "goes with no deletion; list the shard, and delete its objects one by one")
		}
		if err := l.check(ViewObject); err != nil {
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

// body returns the options as the server reads them. Field is what an error puts before a field's name.
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
	case Background, Foreground, Orphan:
		body.PropagationPolicy = &o.Propagation
	default:
		return nil, invalid(field+"Propagation", "%q is none of Background, Foreground, Orphan", o.Propagation)
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
			return nil, invalid(field+ignoreField, "goes with no GracePeriod, Propagation, UID and ResourceVersion: nothing of the object is read")
		}
		body.IgnoreStoreReadErrorWithClusterBreakingPotential = new(true)
	}
	return body, nil
}
