// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package defaults

import (
	"encoding/base64"
	"maps"
)

func coreKinds() kinds {
	return kinds{
		"Endpoints":             within("subsets[].ports[]", zero("protocol", "TCP")),
		"LimitRange":            within("spec.limits[]", limitRangeItem()),
		"Namespace":             namespace(),
		"Node":                  node(),
		"PersistentVolume":      persistentVolume(),
		"PersistentVolumeClaim": claim(),
		"Pod":                   pod(),
		"PodTemplate":           ensure("template.spec", podSpec()),
		"ReplicationController": replicationController(),
		"ResourceQuota":         all(within("spec", rounded("hard")), within("status", rounded("hard", "used"))),
		"Secret":                all(stringData, zero("type", "Opaque")),
		"Service":               all(ensure("spec", serviceSpec()), ingressIPMode),
	}
}

func limitRangeItem() rule {
	return all(
		when("type", "Container",
			fillFrom("default", "max"),
			fillFrom("defaultRequest", "default"),
			fillFrom("defaultRequest", "min"),
		),
		rounded("max", "min", "default", "defaultRequest", "maxLimitRequestRatio"),
	)
}

func namespace() rule {
	return all(nameLabel, ensure("status", zero("phase", "Active")))
}

// nameLabel sets the label with the name of a namespace that has one.
func nameLabel(ns map[string]any) {
	if name := text(object(ns, "metadata"), "name"); name != "" {
		within("metadata", ensure("labels", func(labels map[string]any) {
			labels["kubernetes.io/metadata.name"] = name
		}))(ns)
	}
}

func node() rule {
	return all(
		within("spec", podCIDRs),
		within("status", allocatable, rounded("capacity", "allocatable")),
	)
}

// allocatable sets the allocatable resources of a node to its capacity.
func allocatable(status map[string]any) {
	if capacity := object(status, "capacity"); len(capacity) > 0 && status["allocatable"] == nil {
		status["allocatable"] = maps.Clone(capacity)
	}
}

// podCIDRs makes podCIDR and podCIDRs consistent. If they differ, podCIDR is right.
func podCIDRs(spec map[string]any) {
	cidr := text(spec, "podCIDR")
	cidrs, _ := spec["podCIDRs"].([]any)
	switch {
	case cidr != "" && (len(cidrs) == 0 || !is(cidrs[0], cidr)):
		spec["podCIDRs"] = []any{cidr}
	case cidr == "" && len(cidrs) > 0:
		spec["podCIDR"] = cidrs[0]
	}
}

func replicationController() rule {
	return all(
		ensure("spec",
			unset("replicas", 1),
			within("template", ensure("spec", podSpec())),
		),
		templateLabels("spec", "selector"),
		templateLabels("metadata", "labels"),
	)
}

// templateLabels returns a rule that sets an empty field of an object in a workload to the labels of its template.
func templateLabels(parent, name string) rule {
	return func(obj map[string]any) {
		labels := object(obj, "spec", "template", "metadata", "labels")
		if target := object(obj, parent); target != nil && len(labels) > 0 && len(object(target, name)) == 0 {
			target[name] = labels
		}
	}
}

// stringData moves the write-only stringData of a Secret to its data.
func stringData(secret map[string]any) {
	plain := object(secret, "stringData")
	if len(plain) > 0 {
		ensure("data", func(data map[string]any) {
			for name := range plain {
				data[name] = base64.StdEncoding.EncodeToString([]byte(text(plain, name)))
			}
		})(secret)
	}
	delete(secret, "stringData")
}

func serviceSpec() rule {
	return all(
		zero("sessionAffinity", "None"),
		when("sessionAffinity", "None", drop("sessionAffinityConfig")),
		when("sessionAffinity", "ClientIP",
			ensure("sessionAffinityConfig.clientIP", unset("timeoutSeconds", 10800))),
		zero("type", "ClusterIP"),
		within("ports[]", zero("protocol", "TCP"), targetPort),
		when("type", "ClusterIP", unset("internalTrafficPolicy", "Cluster"), externalIPs),
		when("type", "NodePort",
			unset("internalTrafficPolicy", "Cluster"), zero("externalTrafficPolicy", "Cluster")),
		when("type", "LoadBalancer",
			unset("internalTrafficPolicy", "Cluster"), zero("externalTrafficPolicy", "Cluster"),
			unset("allocateLoadBalancerNodePorts", true)),
	)
}

func targetPort(port map[string]any) {
	if n, ok := port["port"].(int64); ok {
		zero("targetPort", n)(port)
	}
}

// externalIPs sets the policy for external traffic of a service that is reachable from outside by its external IPs.
func externalIPs(spec map[string]any) {
	if !isZero(spec["externalIPs"]) {
		zero("externalTrafficPolicy", "Cluster")(spec)
	}
}

// ingressIPMode sets the mode of the IP addresses of a load balancer.
func ingressIPMode(service map[string]any) {
	if text(object(service, "spec"), "type") == "LoadBalancer" {
		within("status.loadBalancer.ingress[]", func(ingress map[string]any) {
			if text(ingress, "ip") != "" {
				unset("ipMode", "VIP")(ingress)
			}
		})(service)
	}
}
