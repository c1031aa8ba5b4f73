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

// kept has the rules of PrepareUpdate that need the live object.
//
//nolint:gochecknoglobals // a cache
var kept = sync.OnceValue(func() map[schema.GroupVersion]map[string]func(obj, live map[string]any) {
	return map[schema.GroupVersion]map[string]func(obj, live map[string]any){
		{Version: "v1"}:                {"Namespace": keepFinalizers, "Service": keepAllocated},
		{Group: "apps", Version: "v1"}: {"DaemonSet": countTemplates},
	}
})

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
