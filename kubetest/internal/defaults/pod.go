// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package defaults

// podSpec returns the rule of a pod spec, in a pod or a template.
func podSpec() rule {
	return all(
		serviceAccountName,
		zero("dnsPolicy", "ClusterFirst"),
		zero("restartPolicy", "Always"),
		unset("securityContext", map[string]any{}),
		unset("terminationGracePeriodSeconds", 30),
		zero("schedulerName", "default-scheduler"),
		within("volumes[]", volume()),
		within("initContainers[]", container()),
		within("containers[]", container()),
		within("ephemeralContainers[]", container()),
		rounded("overhead"),
		within("resources", rounded("limits", "requests")),
	)
}

// serviceAccountName sets serviceAccount, the deprecated alias of serviceAccountName.
func serviceAccountName(spec map[string]any) {
	if name := text(spec, "serviceAccountName"); name != "" {
		spec["serviceAccount"] = name
	} else if name := text(spec, "serviceAccount"); name != "" {
		spec["serviceAccountName"] = name
	}
}

func container() rule {
	hook := within("httpGet", httpGet())
	return all(
		imagePullPolicy("imagePullPolicy", "image"),
		zero("terminationMessagePath", "/dev/termination-log"),
		zero("terminationMessagePolicy", "File"),
		within("ports[]", zero("protocol", "TCP")),
		within("env[].valueFrom",
			within("fieldRef", fieldRef()),
			within("fileKeyRef", unset("optional", false)),
		),
		within("resources", rounded("limits", "requests")),
		within("livenessProbe", probe()),
		within("readinessProbe", probe()),
		within("startupProbe", probe()),
		within("lifecycle.postStart", hook),
		within("lifecycle.preStop", hook),
	)
}

func probe() rule {
	return all(
		zero("timeoutSeconds", 1),
		zero("periodSeconds", 10),
		zero("successThreshold", 1),
		zero("failureThreshold", 3),
		within("httpGet", httpGet()),
		within("grpc", unset("service", "")),
	)
}

func httpGet() rule { return all(zero("path", "/"), zero("scheme", "HTTP")) }

func fieldRef() rule { return zero("apiVersion", "v1") }

// pod returns the rule of a pod, which has more defaults than a template.
func pod() rule {
	return all(
		ensure("spec",
			within("containers[].resources", fillFrom("requests", "limits")),
			within("initContainers[].resources", fillFrom("requests", "limits")),
			unset("enableServiceLinks", true),
			when("hostNetwork", true,
				within("containers[].ports[]", hostPort),
				within("initContainers[].ports[]", hostPort),
			),
			podSpec(),
			gracePeriod,
		),
		within("status",
			podIPs,
			within("initContainerStatuses[]", containerStatus()),
			within("containerStatuses[]", containerStatus()),
			within("ephemeralContainerStatuses[]", containerStatus()),
			rounded("allocatedResources"),
			within("resources", rounded("limits", "requests")),
		),
	)
}

func containerStatus() rule {
	return all(rounded("allocatedResources"), within("resources", rounded("limits", "requests")))
}

// hostPort publishes a port of a container in the network of the host.
func hostPort(port map[string]any) {
	if isZero(port["hostPort"]) && !isZero(port["containerPort"]) {
		port["hostPort"] = port["containerPort"]
	}
}

// gracePeriod replaces a negative grace period.
func gracePeriod(spec map[string]any) {
	const name = "terminationGracePeriodSeconds"
	if seconds, ok := spec[name].(int64); ok && seconds < 0 {
		spec[name] = int64(1)
	}
}

// podIPs makes podIP and podIPs consistent. If they differ, podIP is right.
func podIPs(status map[string]any) {
	ip, ips := text(status, "podIP"), objects(status, "podIPs")
	switch {
	case ip != "" && (len(ips) == 0 || text(ips[0], "ip") != ip):
		status["podIPs"] = []any{map[string]any{"ip": ip}}
	case ip == "" && len(ips) > 0:
		status["podIP"] = text(ips[0], "ip")
	}
}
