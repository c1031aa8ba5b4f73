// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core"
)

// pod has the fields of a pod that decide its state.
type pod struct {
	metav1.TypeMeta   `json:""`
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		Volumes []volume `json:"volumes"`
	} `json:"spec"`
	Status struct {
		Phase string `json:"phase"`
	} `json:"status"`
}

// metadata is the metadata of a pod.
type metadata struct {
	metav1.PartialObjectMetadata
}

// KubeResource returns the resource of pods.
func (*metadata) KubeResource() core.Resource { return new(pod).KubeResource() }

// volume has the fields of a volume that matter.
type volume struct {
	EmptyDir *struct{} `json:"emptyDir"`
}

// KubeResource returns the resource of pods.
func (*pod) KubeResource() core.Resource {
	return core.Resource{
		Version: "v1", Kind: "Pod", Plural: "pods", Namespaced: true, Subresources: []string{"eviction"},
	}
}

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
func (j *judge) decide(ctx context.Context, p *pod) (state State, reason string, err error) {
	if _, ok := p.Annotations[mirrorAnnotation]; ok {
		return Skipped, "it is a mirror pod of the node", nil
	}
	ending, finished := p.DeletionTimestamp != nil, p.Status.Phase == "Succeeded" || p.Status.Phase == "Failed"
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
	case p.hasEmptyDir() && !j.options.DeleteEmptyDirData:
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

func (p *pod) hasEmptyDir() bool {
	return slices.ContainsFunc(p.Spec.Volumes, func(v volume) bool { return v.EmptyDir != nil })
}
