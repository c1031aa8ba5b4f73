// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package defaults

// The server removes the fields of features whose gates are off from new objects. The functions in this file return
// rules that do this for the gates that are off by default and whose fields are in kinds of stable versions.

// withoutPodFeatures is for GenericWorkload, ContainerStopSignals, ClusterTrustBundleProjection and
// PodCertificateRequest.
func withoutPodFeatures() rule {
	return all(
		drop("schedulingGroup"),
		within("initContainers[]", stopSignal),
		within("containers[]", stopSignal),
		within("ephemeralContainers[]", stopSignal),
		within("volumes[].projected.sources[]", drop("clusterTrustBundle"), drop("podCertificate")),
	)
}

// withoutTemplateFeatures is for the template of a workload.
func withoutTemplateFeatures() rule { return within("spec.template.spec", withoutPodFeatures()) }

func stopSignal(container map[string]any) {
	lifecycle := object(container, "lifecycle")
	if lifecycle["stopSignal"] == nil {
		return
	}
	delete(lifecycle, "stopSignal")
	if len(lifecycle) == 0 {
		delete(container, "lifecycle")
	}
}

// withoutRollingFeatures is for MaxUnavailableStatefulSet.
func withoutRollingFeatures() rule {
	return within("spec.updateStrategy.rollingUpdate", drop("maxUnavailable"))
}

// withoutDataSourceFeatures is for CrossNamespaceVolumeDataSource.
func withoutDataSourceFeatures() rule {
	return func(spec map[string]any) {
		if text(object(spec, "dataSourceRef"), "namespace") != "" {
			delete(spec, "dataSourceRef")
		}
	}
}

// withoutNodeFeatures is for DynamicKubeletConfig, which doesn't exist any more.
func withoutNodeFeatures() rule {
	return all(within("spec", drop("configSource")), within("status", drop("config")))
}

// withoutLeaseFeatures is for CoordinatedLeaderElection.
func withoutLeaseFeatures() rule { return within("spec", drop("strategy"), drop("preferredHolder")) }

// withoutDriverFeatures is for VolumeLimitScaling.
func withoutDriverFeatures() rule { return within("spec", drop("preventPodSchedulingIfMissing")) }

// withoutDeviceFeatures is for DRANodeAllocatableResources.
func withoutDeviceFeatures() rule {
	return within("spec.devices[]", drop("nodeAllocatableResourceMappings"))
}
