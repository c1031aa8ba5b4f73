// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package defaults

// The server removes the fields of features whose gates are off from the objects that it writes, unless they are stored.
// The functions in this file return rules that do this for the gates that are off by default and whose fields are in
// kinds of stable versions. No object of kubetest has such a field stored.

// withoutPodFeatures is for GenericWorkload, EvictionRequestAPI, ContainerStopSignals, H2CContainerProbe,
// GRPCContainerProbeTLS, VolumeBindMountOptions, EmptyDirVolumeMode and AtomicWriteVolumeUserFields.
func withoutPodFeatures() rule {
	return all(
		drop("schedulingGroup"),
		drop("evictionResponders"),
		within("initContainers[]", withoutContainerFeatures()),
		within("containers[]", withoutContainerFeatures()),
		within("ephemeralContainers[]", withoutContainerFeatures()),
		within("volumes[]", within("emptyDir", drop("mode")), withoutUsers()),
	)
}

func withoutContainerFeatures() rule {
	probe := all(within("httpGet", drop("protocol")), within("grpc", drop("mode")))
	return all(
		stopSignal,
		within("lifecycle.postStart.httpGet", drop("protocol")),
		within("lifecycle.preStop.httpGet", drop("protocol")),
		within("livenessProbe", probe),
		within("readinessProbe", probe),
		within("startupProbe", probe),
		within("volumeMounts[]", drop("bindMountOptions")),
	)
}

// withoutUsers is for AtomicWriteVolumeUserFields. It removes the users that own the files of a volume.
func withoutUsers() rule {
	files := within("items[]", drop("user"))
	volume := all(drop("defaultUser"), files)
	return all(
		within("secret", volume),
		within("configMap", volume),
		within("downwardAPI", volume),
		within("projected",
			drop("defaultUser"),
			within("sources[]",
				within("secret", files),
				within("configMap", files),
				within("downwardAPI", files),
				within("serviceAccountToken", drop("user")),
				within("clusterTrustBundle", drop("user")),
				within("podCertificate", drop("user")),
			),
		),
	)
}

// withoutPodStatusFeatures is for CSIVolumeHealth, DRANodeAllocatableResources and ImageVolumeWithDigest.
func withoutPodStatusFeatures() rule {
	mounts := within("volumeMounts[]", drop("volumeStatus"))
	return all(
		drop("volumeHealth"),
		drop("nodeAllocatableResourceClaimStatuses"),
		within("initContainerStatuses[]", mounts),
		within("containerStatuses[]", mounts),
		within("ephemeralContainerStatuses[]", mounts),
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

// withoutJobFeatures is for WorkloadWithJob.
func withoutJobFeatures() rule {
	return all(withoutTemplateFeatures(), within("spec", drop("scheduling")))
}

// withoutDataSourceFeatures is for CrossNamespaceVolumeDataSource.
func withoutDataSourceFeatures() rule {
	return func(spec map[string]any) {
		if text(object(spec, "dataSourceRef"), "namespace") != "" {
			delete(spec, "dataSourceRef")
		}
	}
}

// withoutNodeFeatures is for InPlacePodVerticalScalingSchedulerPreemption, and for DynamicKubeletConfig, which doesn't
// exist any more.
func withoutNodeFeatures() rule {
	return all(
		within("spec", drop("podPreemptionPolicy"), drop("configSource")),
		within("status", drop("config")),
	)
}

// withoutLeaseFeatures is for CoordinatedLeaderElection.
func withoutLeaseFeatures() rule { return within("spec", drop("strategy"), drop("preferredHolder")) }

// withoutSliceFeatures is for DRAPartitionableDevicesType, DRAOptionalNodeOperations, DRANodeAllocatableResources,
// DRADeviceCompatibilityGroups and DRAListTypeAttributes.
func withoutSliceFeatures() rule {
	return within("spec",
		drop("partitionTypeAttribute"),
		drop("skipNodeOperations"),
		within("devices[]",
			drop("nodeAllocatableResources"),
			within("consumesCounters[]", drop("compatibilityGroups")),
			within("attributes", listAttributes),
		),
	)
}

// listAttributes removes the values of attributes that are lists.
func listAttributes(attributes map[string]any) {
	for name := range attributes {
		all(drop("bools"), drop("ints"), drop("strings"), drop("versions"))(object(attributes, name))
	}
}

// withoutRequestFeatures is for DRADerivedAttributes, in the spec of a ResourceClaim.
func withoutRequestFeatures() rule {
	return within("devices.requests[]",
		within("exactly", drop("derivedAttributes")),
		within("firstAvailable[]", drop("derivedAttributes")),
	)
}

// withoutHealth is for CSIVolumeHealth. It removes the named field of the status.
func withoutHealth(name string) rule { return within("status", drop(name)) }
