// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package defaults

import (
	"slices"
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// written has the rules of Prepare that also apply to updates.
//
//nolint:gochecknoglobals // a cache
var written = sync.OnceValue(func() map[schema.GroupVersion]kinds {
	return map[schema.GroupVersion]kinds{
		{Version: "v1"}: {
			"Node":                  withoutNodeFeatures(),
			"PersistentVolumeClaim": all(within("spec", withoutDataSourceFeatures(), dataSources), withoutHealth("healthStatus")),
			"Pod":                   all(within("spec", withoutPodFeatures()), within("status", withoutPodStatusFeatures())),
			"PodTemplate":           within("template.spec", withoutPodFeatures()),
			"ReplicationController": withoutTemplateFeatures(),
			"ServiceAccount":        within("secrets[]", onlyName),
		},
		{Group: "apps", Version: "v1"}: {
			"DaemonSet":   withoutTemplateFeatures(),
			"Deployment":  withoutTemplateFeatures(),
			"ReplicaSet":  withoutTemplateFeatures(),
			"StatefulSet": withoutTemplateFeatures(),
		},
		{Group: "batch", Version: "v1"}: {
			"CronJob": within("spec.jobTemplate", withoutJobFeatures()),
			"Job":     withoutJobFeatures(),
		},
		{Group: "coordination.k8s.io", Version: "v1"}: {"Lease": withoutLeaseFeatures()},
		{Group: "discovery.k8s.io", Version: "v1"}: {
			"EndpointSlice": within("endpoints[]", drop("deprecatedTopology")),
		},
		{Group: "resource.k8s.io", Version: "v1"}: {
			"ResourceClaim": all(
				within("spec", withoutRequestFeatures()),
				within("status.allocation.devices.results[]", drop("skipNodeOperations")),
			),
			"ResourceClaimTemplate": within("spec.spec", withoutRequestFeatures()),
			"ResourceSlice":         withoutSliceFeatures(),
		},
		{Group: "storage.k8s.io", Version: "v1"}: {"CSINode": withoutHealth("storageHealth")},
	}
})

// created has the other rules of Prepare.
//
//nolint:gochecknoglobals // a cache
var created = sync.OnceValue(func() map[schema.GroupVersion]kinds {
	return map[schema.GroupVersion]kinds{
		{Version: "v1"}: newCoreKinds(),
		{Group: "apps", Version: "v1"}: {
			"DaemonSet": all(
				ensure("metadata.annotations", templateGeneration),
				zeros("currentNumberScheduled", "desiredNumberScheduled", "numberMisscheduled", "numberReady"),
			),
			"ReplicaSet":  zeros("replicas"),
			"StatefulSet": zeros("availableReplicas", "replicas"),
		},
		{Group: "autoscaling", Version: "v2"}: {
			"HorizontalPodAutoscaler": all(zeros("desiredReplicas"), within("status", null("currentMetrics"))),
		},
		{Group: "batch", Version: "v1"}:             {"Job": all(jobSelector, templateLabels("metadata", "labels"))},
		{Group: "networking.k8s.io", Version: "v1"}: {"Ingress": loadBalancer()},
		{Group: "policy", Version: "v1"}: {
			"PodDisruptionBudget": zeros("currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods"),
		},
		{Group: "storage.k8s.io", Version: "v1"}: {"VolumeAttachment": ensure("status", unset("attached", false))},
	}
})

func newCoreKinds() kinds {
	return kinds{
		"Namespace": all(
			nameLabel, // also of a generated name
			ensure("spec", namespaceFinalizer),
			ensure("status", zero("phase", "Active")),
		),
		"PersistentVolume":      ensure("status", zero("phase", "Pending"), now("lastPhaseTransitionTime")),
		"PersistentVolumeClaim": ensure("status", zero("phase", "Pending")),
		"Pod":                   newPod(),
		"ReplicationController": zeros("replicas"),
		"Service":               all(loadBalancer(), within("spec", addressFamilies)),
	}
}

// zeros sets the numbers that a status always has.
func zeros(names ...string) rule {
	return ensure("status", func(status map[string]any) {
		for _, name := range names {
			unset(name, 0)(status)
		}
	})
}

func loadBalancer() rule { return ensure("status.loadBalancer") }

// null sets a list without a value, which the status always has.
func null(name string) rule {
	return func(status map[string]any) { fill(status, map[string]any{name: nil}) }
}

func namespaceFinalizer(spec map[string]any) {
	const name = "kubernetes"
	list, _ := spec["finalizers"].([]any)
	for _, finalizer := range list {
		if is(finalizer, name) {
			return
		}
	}
	spec["finalizers"] = append(slices.Clip(list), name)
}

// onlyName removes the other fields of a reference.
func onlyName(ref map[string]any) {
	for field := range ref {
		if field != "name" {
			delete(ref, field)
		}
	}
}

// templateGenerationName is the deprecated annotation that counts the templates of a DaemonSet.
const templateGenerationName = "deprecated.daemonset.template.generation"

func templateGeneration(annotations map[string]any) {
	if n, err := strconv.ParseInt(text(annotations, templateGenerationName), 10, 64); err != nil || n < 1 {
		annotations[templateGenerationName] = "1"
	}
}

// jobSelector makes a Job select its own pods by its UID.
func jobSelector(job map[string]any) {
	spec := object(job, "spec")
	if spec == nil || is(spec["manualSelector"], true) {
		return
	}
	metadata := object(job, "metadata")
	name, uid := text(metadata, "name"), text(metadata, "uid")
	all(
		ensure("template.metadata.labels",
			label("job-name", name),
			label("batch.kubernetes.io/job-name", name),
			label("controller-uid", uid),
			label("batch.kubernetes.io/controller-uid", uid),
		),
		ensure("selector.matchLabels", label("batch.kubernetes.io/controller-uid", uid)),
	)(spec)
}

// label sets a label that does not exist.
func label(name, value string) rule {
	return func(labels map[string]any) { fill(labels, map[string]any{name: value}) }
}
