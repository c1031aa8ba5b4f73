// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package builtin_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-go/sdk/kubetest/internal/builtin"
)

// The wanted paths are those that kube-apiserver 1.37.2 reports with fieldValidation=Strict.
func TestPruneRemovesUnknownFields(t *testing.T) {
	tests := []struct {
		name        string
		kind        schema.GroupVersionKind
		in, out     string
		wantUnknown []string
	}{
		{
			name: "unknown fields are removed, names are case-sensitive", kind: deployment,
			in: `{"Spec":1,"metadata":{"clusterName":"x","name":"d"},"spec":{"foo":null,"paused":true,"template":{"b":1,
				"spec":{"containers":[{"Image":"z","image":"y","livenessProbe":{"httpGet":{"bar":1,"port":80},"httpget":{}},
				"ports":[{"containerPort":80,"foo":{"a":1}}],"resources":{"limits":{"cpu":"1"},"x":1}}]}}},"zz":1}`,
			out: `{"metadata":{"name":"d"},"spec":{"paused":true,"template":{"spec":{"containers":[{"image":"y",` +
				`"livenessProbe":{"httpGet":{"port":80}},"ports":[{"containerPort":80}],"resources":{"limits":{"cpu":"1"}}}]}}}}`,
			wantUnknown: []string{
				"Spec", "metadata.clusterName", "spec.foo", "spec.template.b",
				"spec.template.spec.containers[0].Image",
				"spec.template.spec.containers[0].livenessProbe.httpGet.bar",
				"spec.template.spec.containers[0].livenessProbe.httpget",
				"spec.template.spec.containers[0].ports[0].foo",
				"spec.template.spec.containers[0].resources.x",
				"zz",
			},
		},
		{
			name: "null fields are not set", kind: deployment,
			in:  `{"metadata":{"annotations":null,"labels":{"a.b":"c"}},"spec":{"replicas":null}}`,
			out: `{"metadata":{"labels":{"a.b":"c"}},"spec":{}}`,
		},
		{
			name: "elements are in the order of the list", kind: pod,
			in:  `{"spec":{"hostAliases":[{"x":1},{},{},{},{},{},{},{},{},{},{"x":1}],"volumes":[null,{"x":1}]}}`,
			out: `{"spec":{"hostAliases":[{},{},{},{},{},{},{},{},{},{},{}],"volumes":[null,{}]}}`,
			wantUnknown: []string{
				"spec.hostAliases[0].x", "spec.hostAliases[10].x", "spec.volumes[1].x",
			},
		},
		{
			name: "values of another type are kept", kind: pod,
			in:  `{"metadata":[1],"spec":{"containers":{"a":{"b":1}},"nodeName":{"a":1}}}`,
			out: `{"metadata":[1],"spec":{"containers":{"a":{"b":1}},"nodeName":{"a":1}}}`,
		},
		{
			name: "managed fields and raw objects are kept", in: `{"data":{"a":null,"b":{"c":1}},` +
				`"metadata":{"managedFields":[{"fieldsV1":{"f:data":{".":{}}},"x":1}]},"revision":1}`,
			kind: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ControllerRevision"},
			out: `{"data":{"a":null,"b":{"c":1}},"metadata":{"managedFields":[{"fieldsV1":{"f:data":{".":{}}}}]},` +
				`"revision":1}`,
			wantUnknown: []string{"metadata.managedFields[0].x"},
		},
		{
			name: "a struct without fields has no fields", kind: definition,
			in:          `{"spec":{"versions":[{"subresources":{"status":{"x":1}}}]}}`,
			out:         `{"spec":{"versions":[{"subresources":{"status":{}}}]}}`,
			wantUnknown: []string{"spec.versions[0].subresources.status.x"},
		},
		{
			name: "types with methods for JSON don't report unknown fields", kind: definition,
			in: `{"spec":{"versions":[{"schema":{"openAPIV3Schema":{"bogus":1,"properties":{
				"a":{"additionalProperties":{"bogus":2},"items":{"bogus":3,"properties":{"b":{"bogus":4}}}},
				"c":{"default":{"bogus":5},"dependencies":{"d":["e"]},"items":[{"bogus":6}]},
				"f.g":{"additionalProperties":false,"bogus":7}}}}}]}}`,
			out: `{"spec":{"versions":[{"schema":{"openAPIV3Schema":{"properties":{` +
				`"a":{"additionalProperties":{},"items":{"properties":{"b":{}}}},` +
				`"c":{"default":{"bogus":5},"dependencies":{"d":["e"]},"items":[{}]},` +
				`"f.g":{"additionalProperties":false}}}}}]}}`,
			wantUnknown: []string{
				"spec.versions[0].schema.openAPIV3Schema.bogus",
				"spec.versions[0].schema.openAPIV3Schema.properties.f.g.bogus",
			},
		},
		{
			name: "kinds that are not built in are kept", in: `{"a":1,"b":null}`, out: `{"a":1,"b":null}`,
			kind: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			obj := object(t, test.in)
			unknown := builtin.Prune(test.kind, obj)
			if diff := cmp.Diff(test.wantUnknown, unknown); diff != "" {
				t.Errorf("Prune() returns other paths (-want +got):\n%s", diff)
			}
			if got := text(t, obj); got != test.out {
				t.Errorf("Prune() leaves %s, want %s", got, test.out)
			}
		})
	}
}
