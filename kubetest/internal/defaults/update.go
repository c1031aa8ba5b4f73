// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package defaults

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-go/sdk/kubetest/internal/builtin"
)

// updates are the rules of the kinds of a version of a group that need the live object.
type updates map[string]func(obj, live map[string]any)

// kept has the rules of PrepareUpdate that need the live object, by subresource.
//
//nolint:gochecknoglobals // a cache
var kept = sync.OnceValue(func() map[string]map[schema.GroupVersion]updates {
	return map[string]map[schema.GroupVersion]updates{
		"": {
			{Version: "v1"}: {
				"Namespace": keepFinalizers, "Pod": keepPodResources, "Service": keepAllocated,
			},
			{Group: "apps", Version: "v1"}:            {"DaemonSet": countTemplates},
			{Group: "resource.k8s.io", Version: "v1"}: {"DeviceTaintRule": renewTaint},
		},
		"resize": {{Version: "v1"}: {"Pod": resizePod}},
		"status": {{Version: "v1"}: {"Pod": keepPodStatus}},
	}
})

// keepPodResources keeps the resources of a whole pod, which clients that do not know them remove.
func keepPodResources(obj, live map[string]any) {
	if resources := object(live, "spec", "resources"); resources != nil {
		within("spec", unset("resources", resources))(obj)
	}
}

func resizePod(obj, live map[string]any) {
	keepPodResources(obj, live)
	within("spec", podResources)(obj)
}

// keepPodStatus keeps the quality of service of a pod, and the claims that clients that do not know them remove.
func keepPodStatus(obj, live map[string]any) {
	within("status", func(status map[string]any) {
		for _, name := range []string{"qosClass", "resourceClaimStatuses", "extendedResourceClaimStatus"} {
			if value := object(live, "status")[name]; value != nil {
				unset(name, value)(status)
			}
		}
	})(obj)
}

// renewTaint sets the time of the taint of a DeviceTaintRule if its effect changes and its time doesn't.
func renewTaint(obj, live map[string]any) {
	taint, before := object(obj, "spec", "taint"), object(live, "spec", "taint")
	if taint["effect"] != before["effect"] && taint["timeAdded"] == before["timeAdded"] {
		within("spec.taint", drop("timeAdded"), now("timeAdded"))(obj)
	}
}

// keepFinalizers keeps the finalizers in the spec of a namespace, which only the subresource finalize changes.
func keepFinalizers(obj, live map[string]any) {
	finalizers := object(live, "spec")["finalizers"]
	ensure("spec", drop("finalizers"))(obj)
	if finalizers != nil {
		within("spec", unset("finalizers", finalizers))(obj)
	}
}

// countTemplates counts the templates of a DaemonSet in its deprecated annotation.
func countTemplates(obj, live map[string]any) {
	gvk := schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "DaemonSet"}
	n, _ := strconv.ParseInt(text(object(live, "metadata", "annotations"), templateGenerationName), 10, 64)
	if !builtin.SameField(gvk, live, obj, "spec.template") {
		n++
	}
	ensure("metadata.annotations", set(templateGenerationName, strconv.FormatInt(n, 10)))(obj)
}

// keepAllocated keeps the addresses and ports of a Service that an update does not name, and removes those that its new
// type does not need.
func keepAllocated(obj, live map[string]any) {
	spec, before := object(obj, "spec"), object(live, "spec")
	if spec == nil || before == nil {
		return
	}
	addresses := []string{"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"}
	external := func(spec map[string]any) bool { return is(spec["type"], "ExternalName") }
	switch {
	case !external(before) && !external(spec):
		for _, name := range addresses {
			if value, ok := before[name]; ok {
				zero(name, value)(spec)
			}
		}
	case !external(before):
		for _, name := range append(addresses, "internalTrafficPolicy") {
			if reflect.DeepEqual(spec[name], before[name]) {
				delete(spec, name)
			}
		}
	}
	keepNodePorts(spec, before)
	addressFamilies(spec)
}

// addressFamilies sets the fields of a Service that follow from its cluster IP. A headless Service without a selector
// has both families of addresses.
func addressFamilies(spec map[string]any) {
	ip := text(spec, "clusterIP")
	if ip == "" || is(spec["type"], "ExternalName") {
		return
	}
	families, policy := []any{"IPv4"}, "SingleStack"
	if strings.Contains(ip, ":") {
		families = []any{"IPv6"}
	}
	if ip == "None" && len(object(spec, "selector")) == 0 {
		families, policy = []any{"IPv4", "IPv6"}, "RequireDualStack"
	}
	zero("clusterIPs", []any{ip})(spec)
	zero("ipFamilies", families)(spec)
	zero("ipFamilyPolicy", policy)(spec)
}

// keepNodePorts keeps the ports of nodes by the names of the ports.
func keepNodePorts(spec, before map[string]any) {
	needed := func(spec map[string]any) bool {
		return is(spec["type"], "NodePort") || is(spec["type"], "LoadBalancer")
	}
	if !needed(before) {
		return
	}
	ports := objects(spec, "ports")
	old := make(map[string]any)
	for _, port := range objects(before, "ports") {
		old[text(port, "name")] = port["nodePort"]
	}
	uses := func(value any) bool {
		has := func(port map[string]any) bool { return reflect.DeepEqual(port["nodePort"], value) }
		return slices.ContainsFunc(ports, has)
	}
	for _, port := range ports {
		value, ok := old[text(port, "name")]
		switch {
		case !ok || isZero(value):
		case !needed(spec) && reflect.DeepEqual(port["nodePort"], value):
			delete(port, "nodePort")
		case needed(spec) && !uses(value):
			zero("nodePort", value)(port)
		}
	}
	if needed(spec) && is(spec["type"], "LoadBalancer") && is(spec["externalTrafficPolicy"], "Local") {
		if value, ok := before["healthCheckNodePort"]; ok {
			zero("healthCheckNodePort", value)(spec)
		}
	}
}
