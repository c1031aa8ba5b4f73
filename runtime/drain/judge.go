// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core"
)

func nodeResource() core.Resource {
	return core.Resource{Version: "v1", Kind: "Node", Plural: "nodes"}
}

func daemonSetResource() core.Resource {
	return core.Resource{Group: "apps", Version: "v1", Kind: "DaemonSet", Plural: "daemonsets", Namespaced: true}
}

// mirrorAnnotation marks the static pods of a node, which can be read but not evicted.
const mirrorAnnotation = "kubernetes.io/config.mirror"

// judge decides the first state of pods.
type judge struct {
	client     *client.Client
	options    Options
	daemonSets map[core.ObjectRef]bool // whether each exists
}

// decide returns the first state of a pod, and the reason.
func (j *judge) decide(ctx context.Context, p *corev1.Pod) (state State, reason string, err error) {
	if _, ok := p.Annotations[mirrorAnnotation]; ok {
		return Skipped, "it is a mirror pod of the node", nil
	}
	if skip := j.options.Skip; skip != nil && skip(p) {
		return Skipped, "Options.Skip selects it", nil
	}
	ending := p.DeletionTimestamp != nil
	finished := p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
	owner := metav1.GetControllerOf(p)
	if owner != nil && owner.Kind == "DaemonSet" && !finished {
		state, reason, err = j.decideDaemon(ctx, core.ObjectRef{Namespace: p.Namespace, Name: owner.Name}, ending)
		if state != Pending {
			return state, reason, err
		}
	}
	switch {
	case ending && j.options.GracePeriod == nil:
		return Evicted, "it is terminating already", nil
	case ending, finished: // the grace period may be shorter now, or the pod has nothing to lose
		return Pending, "", nil
	case owner == nil && !j.options.Force:
		return Refused, "no controller recreates it: set Force to delete it", nil
	case hasEmptyDir(p) && !j.options.DeleteEmptyDirData:
		return Refused, "it has an emptyDir volume: set DeleteEmptyDirData to delete its data", nil
	}
	return Pending, "", nil
}

// decideDaemon is decide for a pod of a daemon set, which may be terminating.
func (j *judge) decideDaemon(
	ctx context.Context,
	ref core.ObjectRef,
	ending bool,
) (state State, reason string, err error) {
	there, asked := j.daemonSets[ref]
	if !asked {
		sets := client.Of[metav1.PartialObjectMetadata](j.client, daemonSetResource()).In(ref.Namespace)
		set, err := sets.GetOrNil(ctx, ref.Name, nil)
		if err != nil {
			return "", "", err
		}
		there = set != nil
		j.daemonSets[ref] = there
	}
	switch {
	case there && j.options.IgnoreDaemonSets:
		return Skipped, "daemon set " + ref.Name + " manages it", nil
	case there:
		return Refused, "daemon set " + ref.Name + " would recreate it: set IgnoreDaemonSets to skip it", nil
	case !j.options.Force && !ending:
		return Refused, "its daemon set " + ref.Name + " is deleted: set Force to delete it", nil
	}
	return Pending, "", nil
}

func hasEmptyDir(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Spec.Volumes, func(v corev1.Volume) bool { return v.EmptyDir != nil })
}
