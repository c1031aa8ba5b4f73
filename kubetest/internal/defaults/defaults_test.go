// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package defaults_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kube-go/sdk/kubetest/internal/defaults"
	"github.com/kube-go/sdk/kubetest/internal/typed"
)

// eachManifest calls a function for each manifest.
func eachManifest(t *testing.T, do func(t *testing.T, k kind, manifest document)) {
	t.Helper()
	paths, err := filepath.Glob("testdata/manifests/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		for _, manifest := range documents(t, path) {
			k := kindOf(t, manifest)
			t.Run(k.Kind+" "+manifest.name(), func(t *testing.T) { do(t, k, manifest) })
		}
	}
}

func TestDefaultsOfAnObjectAreSetOnce(t *testing.T) {
	eachManifest(t, func(t *testing.T, k kind, manifest document) {
		obj := decoded(t, k, manifest).Object
		defaults.Set(k.GroupVersionKind, obj)
		once := runtime.DeepCopyJSON(obj)
		defaults.Set(k.GroupVersionKind, obj)
		if diff := cmp.Diff(once, obj); diff != "" {
			t.Errorf("the second Set changes (-before +after):\n%s", diff)
		}
	})
}

// The server sets the defaults again when it reads an object from its store.
func TestNewObjectsHaveAllDefaults(t *testing.T) {
	eachManifest(t, func(t *testing.T, k kind, manifest document) {
		obj := created(t, k, manifest)
		before := runtime.DeepCopyJSON(obj)
		defaults.Set(k.GroupVersionKind, obj)
		if diff := cmp.Diff(before, obj); diff != "" {
			t.Errorf("Set changes the new object (-before +after):\n%s", diff)
		}
	})
}

func TestNewObjectsAreValidForTheirGoTypes(t *testing.T) {
	eachManifest(t, func(t *testing.T, k kind, manifest document) {
		obj := created(t, k, manifest)
		got, unknown, err := typed.FromMap(obj, k.GroupVersionKind)
		if err != nil || len(unknown) > 0 {
			t.Fatalf("FromMap() = %v, %v", unknown, err)
		}
		if !k.status {
			delete(got.Object, "status") // of a Go type that is newer than the recording
		}
		if diff := cmp.Diff(obj, got.Object); diff != "" {
			t.Errorf("FromMap() changes (-before +after):\n%s", diff)
		}
	})
}

// Objects that have not passed through their Go types lack the structs that these always have.
func TestDefaultsNeedNoGoTypes(t *testing.T) {
	eachManifest(t, func(t *testing.T, k kind, manifest document) {
		before, after := manifest.object(t), decoded(t, k, manifest)
		after.SetNamespace("")
		defaults.Set(k.GroupVersionKind, before)
		defaults.Set(k.GroupVersionKind, after.Object)
		got, _, err := typed.FromMap(before, k.GroupVersionKind)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(after.Object, got.Object); diff != "" {
			t.Errorf("Set depends on the Go type (-with +without):\n%s", diff)
		}
	})
}

func TestFieldsOfWrongTypesAreTolerated(t *testing.T) {
	values := []any{
		nil, "", "a", int64(-1), 1.5, true, []any{}, []any{nil, "a"}, map[string]any{}, map[string]any{"a": nil},
	}
	eachManifest(t, func(t *testing.T, k kind, manifest document) {
		complete := created(t, k, manifest)
		eachField(complete, func(parent map[string]any, name string) {
			right := parent[name]
			for _, value := range values {
				parent[name] = value
				obj := runtime.DeepCopyJSON(complete)
				defaults.Set(k.GroupVersionKind, obj)
				defaults.Prepare(k.GroupVersionKind, obj)
			}
			parent[name] = right
		})
	})
}

// eachField calls a function for each field of an object and of the objects in it.
func eachField(value any, do func(parent map[string]any, name string)) {
	switch value := value.(type) {
	case map[string]any:
		for name := range value {
			eachField(value[name], do)
			do(value, name)
		}
	case []any:
		for _, element := range value {
			eachField(element, do)
		}
	}
}

func TestObjectsOfUnknownKindsAreUnchanged(t *testing.T) {
	for _, gvk := range []schema.GroupVersionKind{
		{Group: "example.com", Version: "v1", Kind: "Pod"},
		{Version: "v2", Kind: "Pod"},
		{Version: "v1", Kind: "Scale"},
		{},
	} {
		obj := map[string]any{"spec": map[string]any{"containers": []any{map[string]any{}}}}
		want := runtime.DeepCopyJSON(obj)
		defaults.Set(gvk, obj)
		defaults.Prepare(gvk, obj)
		if diff := cmp.Diff(want, obj); diff != "" {
			t.Errorf("Set and Prepare(%v) change (-before +after):\n%s", gvk, diff)
		}
	}
}

func TestExistingStatusIsKept(t *testing.T) {
	tests := []struct{ kind, in, want string }{
		{"Pod", `status: {phase: Running, qosClass: Guaranteed}`, `status: {phase: Running, qosClass: Guaranteed}`},
		{"Namespace", `{metadata: {name: a}, spec: {finalizers: [kubernetes]}, status: {phase: Terminating}}`, `{
			metadata: {name: a, labels: {kubernetes.io/metadata.name: a}}, spec: {finalizers: [kubernetes]},
			status: {phase: Terminating}}`},
		{"PersistentVolumeClaim", `status: {phase: Bound}`, `status: {phase: Bound}`},
		{"ReplicationController", `status: {replicas: 3}`, `status: {replicas: 3}`},
	}
	for _, test := range tests {
		got := document(test.in).object(t)
		defaults.Prepare(core(test.kind), got)
		if diff := cmp.Diff(document(test.want).object(t), got); diff != "" {
			t.Errorf("Prepare(%s) differs (-want +got):\n%s", test.in, diff)
		}
	}
}

func TestStatusHasDefaults(t *testing.T) {
	tests := []struct{ kind, in, want string }{
		{"Pod", `{podIP: 10.0.0.1}`, `{podIP: 10.0.0.1, podIPs: [{ip: 10.0.0.1}]}`},
		{"Pod", `{podIPs: [{ip: 10.0.0.1}, {ip: "::1"}]}`, `{podIP: 10.0.0.1, podIPs: [{ip: 10.0.0.1}, {ip: "::1"}]}`},
		{
			"Pod", `{podIP: 10.0.0.2, podIPs: [{ip: 10.0.0.1}, {ip: "::1"}]}`,
			`{podIP: 10.0.0.2, podIPs: [{ip: 10.0.0.2}]}`,
		},
		{
			"Pod", `{containerStatuses: [{resources: {limits: {cpu: 1.0005}}, allocatedResources: {cpu: 0.1m}}]}`,
			`{containerStatuses: [{resources: {limits: {cpu: 1.0005}}, allocatedResources: {cpu: 1m}}]}`,
		},
		{"PersistentVolume", `{}`, `{phase: Pending}`},
		{"PersistentVolumeClaim", `{capacity: {storage: "0.0001"}}`, `{phase: Pending, capacity: {storage: 1m}}`},
		{"ResourceQuota", `{hard: {cpu: 0.1m}, used: {cpu: "1"}}`, `{hard: {cpu: 1m}, used: {cpu: "1"}}`},
	}
	for _, test := range tests {
		obj := map[string]any{"status": document(test.in).object(t)}
		defaults.Set(core(test.kind), obj)
		if diff := cmp.Diff(document(test.want).object(t), obj["status"]); diff != "" {
			t.Errorf("Set(status of %s: %s) differs (-want +got):\n%s", test.kind, test.in, diff)
		}
	}
}

func TestLoadBalancerAddressesAreVirtual(t *testing.T) {
	obj := document(`
spec: {type: LoadBalancer}
status: {loadBalancer: {ingress: [{ip: 10.0.0.1}, {hostname: a}]}}`).object(t)
	defaults.Set(core("Service"), obj)
	want := document(`loadBalancer: {ingress: [{ip: 10.0.0.1, ipMode: VIP}, {hostname: a}]}`).object(t)
	if diff := cmp.Diff(want, obj["status"]); diff != "" {
		t.Errorf("the status differs (-want +got):\n%s", diff)
	}
}

func TestObjectsShareNoDefaults(t *testing.T) {
	gvk := schema.GroupVersionKind{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"}
	first, second := map[string]any{}, map[string]any{}
	defaults.Set(gvk, first)
	eachField(first, func(parent map[string]any, name string) { delete(parent, name) })
	defaults.Set(gvk, second)
	if spec, _ := second["spec"].(map[string]any); len(spec) != 2 {
		t.Errorf("the spec of the second object is %v", spec)
	}
}

func core(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Version: "v1", Kind: kind}
}

func FuzzSet(f *testing.F) {
	f.Add("apps", "v1", "Deployment", `{"spec":{"template":{"spec":{"containers":[{"image":"a:latest"}]}}}}`)
	f.Add("", "v1", "Pod", `{"spec":{"containers":[{"resources":{"limits":{"cpu":"0.1m"}}}],"hostNetwork":true}}`)
	f.Add("", "v1", "Pod", `{"spec":{"containers":[{}],"resources":{"limits":{"cpu":"1"}}}}`)
	f.Add("", "v1", "Secret", `{"stringData":{"a":"b"}}`)
	f.Add("batch", "v1", "Job", `{"metadata":{"name":"a"},"spec":{"template":{"metadata":{"labels":{"a":"b"}}}}}`)
	f.Add("autoscaling", "v2", "HorizontalPodAutoscaler", `{"spec":{"behavior":{"scaleUp":{}}}}`)
	f.Fuzz(func(t *testing.T, group, version, name, text string) {
		gvk := schema.GroupVersionKind{Group: group, Version: version, Kind: name}
		obj := map[string]any{}
		if utiljson.Unmarshal([]byte(text), &obj) != nil {
			return
		}
		defaults.Set(gvk, obj)
		once := runtime.DeepCopyJSON(obj)
		defaults.Set(gvk, obj)
		if diff := cmp.Diff(once, obj); diff != "" {
			t.Errorf("the second Set changes (-before +after):\n%s", diff)
		}
		defaults.Prepare(gvk, obj)
	})
}

func TestPrepareUpdateKeepsWhatTheServerAllocated(t *testing.T) {
	const live = `{"spec":{"type":"NodePort","clusterIP":"10.0.0.1","clusterIPs":["10.0.0.1"],"ipFamilies":["IPv4"],
		"ipFamilyPolicy":"SingleStack","ports":[{"name":"a","nodePort":30001},{"name":"b","nodePort":30002}]}}`
	for _, test := range []struct{ name, in, want string }{
		{
			"without addresses and ports", `{"spec":{"type":"NodePort","ports":[{"name":"b"},{"name":"c"},{"name":"a"}]}}`,
			`{"spec":{"type":"NodePort","clusterIP":"10.0.0.1","clusterIPs":["10.0.0.1"],"ipFamilies":["IPv4"],
				"ipFamilyPolicy":"SingleStack",
				"ports":[{"name":"b","nodePort":30002},{"name":"c"},{"name":"a","nodePort":30001}]}}`,
		},
		{
			"a port that another one has now",
			`{"spec":{"type":"NodePort","clusterIP":"10.0.0.1","clusterIPs":["10.0.0.1"],"ipFamilies":["IPv4"],
				"ipFamilyPolicy":"SingleStack","ports":[{"name":"a"},{"name":"c","nodePort":30001}]}}`,
			`{"spec":{"type":"NodePort","clusterIP":"10.0.0.1","clusterIPs":["10.0.0.1"],"ipFamilies":["IPv4"],
				"ipFamilyPolicy":"SingleStack","ports":[{"name":"a"},{"name":"c","nodePort":30001}]}}`,
		},
		{
			"a type without ports of nodes", `{"spec":{"type":"ClusterIP","ports":[{"name":"a","nodePort":30001}]}}`,
			`{"spec":{"type":"ClusterIP","clusterIP":"10.0.0.1","clusterIPs":["10.0.0.1"],"ipFamilies":["IPv4"],
				"ipFamilyPolicy":"SingleStack","ports":[{"name":"a"}]}}`,
		},
		{
			"a type without addresses",
			`{"spec":{"type":"ExternalName","clusterIP":"10.0.0.1","clusterIPs":["10.0.0.1"],"ipFamilies":["IPv4"]}}`,
			`{"spec":{"type":"ExternalName"}}`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			obj := document(test.in).object(t)
			defaults.PrepareUpdate(core("Service"), "", obj, document(live).object(t))
			if diff := cmp.Diff(document(test.want).object(t), obj); diff != "" {
				t.Errorf("PrepareUpdate differs (-want +got):\n%s", diff)
			}
		})
	}
}
