// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package defaults

func admissionKinds() kinds {
	policy := ensure("spec", unset("failurePolicy", "Fail"), within("matchConstraints", matchResources()))
	return kinds{
		"MutatingAdmissionPolicy":          policy,
		"MutatingAdmissionPolicyBinding":   within("spec.matchResources", matchResources()),
		"MutatingWebhookConfiguration":     within("webhooks[]", webhook(), unset("reinvocationPolicy", "Never")),
		"ValidatingAdmissionPolicy":        policy,
		"ValidatingAdmissionPolicyBinding": within("spec.matchResources", matchResources()),
		"ValidatingWebhookConfiguration":   within("webhooks[]", webhook()),
	}
}

func webhook() rule {
	return all(
		unset("failurePolicy", "Fail"),
		matching(),
		unset("timeoutSeconds", 10),
		within("clientConfig.service", unset("port", 443)),
		within("rules[]", unset("scope", "*")),
	)
}

// matching returns the rule of what webhooks and policies have to match requests.
func matching() rule {
	return all(
		unset("matchPolicy", "Equivalent"),
		unset("namespaceSelector", map[string]any{}),
		unset("objectSelector", map[string]any{}),
	)
}

func matchResources() rule {
	return all(
		matching(),
		within("resourceRules[]", unset("scope", "*")),
		within("excludeResourceRules[]", unset("scope", "*")),
	)
}

func certificateKinds() kinds {
	return kinds{"PodCertificateRequest": within("spec", unset("maxExpirationSeconds", 86400))}
}

func discoveryKinds() kinds {
	return kinds{"EndpointSlice": within("ports[]", unset("name", ""), unset("protocol", "TCP"))}
}

func flowControlKinds() kinds {
	return kinds{
		"FlowSchema": ensure("spec", zero("matchingPrecedence", 1000)),
		"PriorityLevelConfiguration": within("spec",
			within("limited",
				unset("nominalConcurrencyShares", 30),
				unset("lendablePercent", 0),
				within("limitResponse.queuing", zero("handSize", 8), zero("queues", 64), zero("queueLengthLimit", 50)),
			),
			within("exempt", unset("nominalConcurrencyShares", 0), unset("lendablePercent", 0)),
		),
	}
}

func networkingKinds() kinds {
	return kinds{
		"IngressClass": within("spec.parameters", unset("scope", "Cluster")),
		"NetworkPolicy": ensure("spec",
			policyTypes,
			within("ingress[].ports[]", unset("protocol", "TCP")),
			within("egress[].ports[]", unset("protocol", "TCP")),
		),
	}
}

func policyTypes(spec map[string]any) {
	types := []any{"Ingress"}
	if !isZero(spec["egress"]) {
		types = append(types, "Egress")
	}
	zero("policyTypes", types)(spec)
}

func rbacKinds() kinds {
	const group = "rbac.authorization.k8s.io"
	binding := all(
		ensure("roleRef", zero("apiGroup", group)),
		within("subjects[]",
			when("kind", "User", zero("apiGroup", group)),
			when("kind", "Group", zero("apiGroup", group)),
		),
	)
	return kinds{"ClusterRoleBinding": binding, "RoleBinding": binding}
}

func resourceKinds() kinds {
	requests := within("devices.requests[]",
		within("exactly", deviceRequest()),
		within("firstAvailable[]", deviceRequest()),
	)
	taint := now("timeAdded")
	return kinds{
		"DeviceTaintRule": within("spec.taint", taint),
		"ResourceClaim": all(
			within("spec", requests),
			within("status.allocation.devices.results[].tolerations[]", zero("operator", "Equal")),
		),
		"ResourceClaimTemplate": within("spec.spec", requests),
		"ResourceSlice":         within("spec.devices[].taints[]", taint),
	}
}

func deviceRequest() rule {
	return all(
		zero("allocationMode", "ExactCount"),
		when("allocationMode", "ExactCount", zero("count", 1)),
		within("tolerations[]", zero("operator", "Equal")),
	)
}

func schedulingKinds() kinds {
	return kinds{"PriorityClass": unset("preemptionPolicy", "PreemptLowerPriority")}
}

func storageKinds() kinds {
	return kinds{
		"CSIDriver": ensure("spec",
			unset("attachRequired", true),
			unset("podInfoOnMount", false),
			unset("storageCapacity", false),
			unset("fsGroupPolicy", "ReadWriteOnceWithFSType"),
			zero("volumeLifecycleModes", []any{"Persistent"}),
			unset("requiresRepublish", false),
			unset("seLinuxMount", false),
			unset("preventPodSchedulingIfMissing", false),
		),
		"StorageClass":     all(unset("reclaimPolicy", "Delete"), unset("volumeBindingMode", "Immediate")),
		"VolumeAttachment": within("spec.source.inlineVolumeSpec", volumeSpec()),
	}
}
