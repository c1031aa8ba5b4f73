// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package defaults

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// rounded rounds up the quantities in resource lists to thousandths.
func rounded(names ...string) rule {
	return func(obj map[string]any) {
		for _, name := range names {
			list := object(obj, name)
			for key, q := range quantities(list) {
				if !q.RoundUp(resource.Milli) {
					list[key] = q.String()
				}
			}
		}
	}
}

// quantities returns the valid quantities of a resource list.
func quantities(list map[string]any) map[string]resource.Quantity {
	result := make(map[string]resource.Quantity, len(list))
	for name := range list {
		if q, err := resource.ParseQuantity(text(list, name)); err == nil {
			result[name] = q
		}
	}
	return result
}

// podResources sets the resources of a whole pod which has some of them: limits of huge pages from the containers, then
// requests from the containers or from the limits, and then limits from containers that all have one.
func podResources(spec map[string]any) {
	resources := object(spec, "resources")
	if len(object(resources, "limits"))+len(object(resources, "requests")) == 0 {
		return
	}
	limits, requests := entries(resources, "limits"), entries(resources, "requests")
	ofContainers := total(spec, "limits")
	for name, q := range ofContainers {
		if _, requested := requests[name]; isHugePages(name) && !requested {
			fill(limits, map[string]any{name: q.String()})
		}
	}
	for name, q := range total(spec, "requests") {
		if isPodLevel(name) && !isHugePages(name) {
			fill(requests, map[string]any{name: q.String()})
		}
	}
	for name, value := range limits {
		if isPodLevel(name) {
			fill(requests, map[string]any{name: value})
		}
	}
	for name, request := range quantities(requests) {
		if isPodLevel(name) && limitedEverywhere(spec, name) {
			limit := ofContainers[name]
			if request.Cmp(limit) > 0 {
				limit = request
			}
			fill(limits, map[string]any{name: limit.String()})
		}
	}
	for name, list := range map[string]map[string]any{"limits": limits, "requests": requests} {
		if len(list) > 0 {
			resources[name] = list
		}
	}
}

// limitedEverywhere returns whether all containers of a pod have a limit of a resource.
func limitedEverywhere(spec map[string]any, name string) bool {
	for _, list := range []string{"initContainers", "containers", "ephemeralContainers"} {
		for _, c := range objects(spec, list) {
			if _, ok := object(c, "resources", "limits")[name]; !ok {
				return false
			}
		}
	}
	return true
}

// entries returns a field that is an object, or a new object.
func entries(obj map[string]any, name string) map[string]any {
	if child := object(obj, name); child != nil {
		return child
	}
	return map[string]any{}
}

func isHugePages(name string) bool { return strings.HasPrefix(name, "hugepages-") }

func isPodLevel(name string) bool { return name == "cpu" || name == "memory" || isHugePages(name) }

// total returns the requests or limits of all containers of a pod, see
// https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers/#resource-sharing-within-containers.
func total(spec map[string]any, name string) map[string]resource.Quantity {
	sum, sidecars := map[string]resource.Quantity{}, map[string]resource.Quantity{}
	highest := map[string]resource.Quantity{} // while an init container runs
	for _, c := range objects(spec, "containers") {
		add(sum, quantities(object(c, "resources", name)))
	}
	for _, c := range objects(spec, "initContainers") {
		own := quantities(object(c, "resources", name))
		if text(c, "restartPolicy") == "Always" {
			add(sum, own)
			add(sidecars, own)
			raise(highest, sidecars)
			continue
		}
		add(own, sidecars)
		raise(highest, own)
	}
	raise(sum, highest)
	return sum
}

func add(sum, list map[string]resource.Quantity) {
	for name, q := range list {
		value := sum[name].DeepCopy()
		value.Add(q)
		sum[name] = value
	}
}

func raise(highest, list map[string]resource.Quantity) {
	for name, q := range list {
		if value, ok := highest[name]; !ok || q.Cmp(value) > 0 {
			highest[name] = q.DeepCopy()
		}
	}
}
