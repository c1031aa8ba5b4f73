// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package defaults

import (
	"math"

	"k8s.io/apimachinery/pkg/runtime"
)

func appsKinds() kinds {
	return kinds{
		"DaemonSet":   ensure("spec", daemonSetSpec()),
		"Deployment":  ensure("spec", deploymentSpec()),
		"ReplicaSet":  ensure("spec", unset("replicas", 1), template()),
		"StatefulSet": ensure("spec", statefulSetSpec()),
	}
}

// template returns the rule of the template of a workload.
func template() rule { return ensure("template.spec", podSpec()) }

func deploymentSpec() rule {
	return all(
		unset("replicas", 1),
		ensure("strategy",
			zero("type", "RollingUpdate"),
			when("type", "RollingUpdate",
				ensure("rollingUpdate", unset("maxUnavailable", "25%"), unset("maxSurge", "25%"))),
		),
		unset("revisionHistoryLimit", 10),
		unset("progressDeadlineSeconds", 600),
		template(),
	)
}

func daemonSetSpec() rule {
	return all(
		ensure("updateStrategy",
			zero("type", "RollingUpdate"),
			when("type", "RollingUpdate", ensure("rollingUpdate", unset("maxUnavailable", 1), unset("maxSurge", 0))),
		),
		unset("revisionHistoryLimit", 10),
		template(),
	)
}

func statefulSetSpec() rule {
	return all(
		zero("podManagementPolicy", "OrderedReady"),
		ensure("updateStrategy",
			zeroThen("type", "RollingUpdate", unset("rollingUpdate", map[string]any{})),
			when("type", "RollingUpdate", within("rollingUpdate", unset("partition", 0), unset("maxUnavailable", 1))),
		),
		ensure("persistentVolumeClaimRetentionPolicy", zero("whenDeleted", "Retain"), zero("whenScaled", "Retain")),
		unset("replicas", 1),
		unset("revisionHistoryLimit", 10),
		template(),
		within("volumeClaimTemplates[]", claim(), set("apiVersion", "v1"), set("kind", "PersistentVolumeClaim")),
	)
}

func batchKinds() kinds {
	return kinds{
		"CronJob": ensure("spec",
			zero("concurrencyPolicy", "Allow"),
			unset("suspend", false),
			unset("successfulJobsHistoryLimit", 3),
			unset("failedJobsHistoryLimit", 1),
			ensure("jobTemplate.spec", jobTemplateSpec()),
		),
		"Job": all(
			ensure("spec", jobSpec, jobTemplateSpec()),
			// The same labels, not a copy: the labels that Prepare adds to the template become labels of the Job too.
			templateLabels("metadata", "labels"),
		),
	}
}

// jobTemplateSpec returns the rule of the parts of a Job's spec that also have defaults in a CronJob.
func jobTemplateSpec() rule {
	return all(
		within("podFailurePolicy.rules[].onPodConditions[]", zero("status", "True")),
		template(),
	)
}

func jobSpec(spec map[string]any) {
	if spec["parallelism"] == nil {
		unset("completions", 1)(spec)
	}
	retries, replacement := 6, "TerminatingOrFailed"
	if spec["backoffLimitPerIndex"] != nil {
		retries = math.MaxInt32
	}
	if spec["podFailurePolicy"] != nil {
		replacement = "Failed"
	}
	all(
		unset("parallelism", 1),
		unset("backoffLimit", retries),
		unset("completionMode", "NonIndexed"),
		unset("suspend", false),
		unset("podReplacementPolicy", replacement),
		unset("manualSelector", false),
	)(spec)
}

// averageCPU is the utilization in percent that an autoscaler without metrics aims at.
const averageCPU = 80

func autoscalingKinds() kinds {
	return kinds{"HorizontalPodAutoscaler": ensure("spec",
		unset("minReplicas", 1),
		zero("metrics", []any{map[string]any{
			"type": "Resource",
			"resource": map[string]any{
				"name":   "cpu",
				"target": map[string]any{"type": "Utilization", "averageUtilization": int64(averageCPU)},
			},
		}}),
		within("behavior",
			ensure("scaleUp",
				unset("stabilizationWindowSeconds", 0), scalingPolicies(scalingPolicy("Pods", 4), scalingPolicy("Percent", 100))),
			ensure("scaleDown", scalingPolicies(scalingPolicy("Percent", 100))),
		),
	)}
}

// scalingPolicies returns a rule that sets the policies for one direction of scaling.
func scalingPolicies(policies ...any) rule {
	return all(unset("selectPolicy", "Max"), unset("policies", runtime.DeepCopyJSONValue(policies)))
}

func scalingPolicy(kind string, value int64) any {
	return map[string]any{"type": kind, "value": value, "periodSeconds": int64(15)}
}
