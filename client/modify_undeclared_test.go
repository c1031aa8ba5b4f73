// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
)

// leanPod declares a few fields of pods, and few fields of the items of their lists.
type leanPod struct {
	metav1.TypeMeta   `json:""`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Containers  []leanContainer  `json:"containers"`
		Tolerations []leanToleration `json:"tolerations,omitempty"`
		Security    leanSecurity     `json:"securityContext,omitzero"`
	} `json:"spec"`
	Status struct {
		Phase      string          `json:"phase,omitempty"`
		Conditions []leanCondition `json:"conditions,omitempty"`
	} `json:"status"`
}

type leanContainer struct {
	Name  string `json:"name"`
	Image string `json:"image,omitempty"`
}

type leanToleration struct {
	Operator string `json:"operator,omitempty"`
}

type leanSecurity struct {
	User int64 `json:"runAsUser,omitempty"`
}

type leanCondition struct {
	Type   string `json:"type"`
	Status string `json:"status"`
}

func (*leanPod) KubeResource() core.Resource {
	return core.Resource{
		Version: "v1", Kind: "Pod", Plural: "pods", Namespaced: true, Subresources: []string{"status", "resize"},
	}
}

const (
	webPodPath = "/api/v1/namespaces/prod/pods/web"
	webPodJSON = `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web","namespace":"prod"},"spec":{` +
		`"securityContext":{"fsGroup":1},"tolerations":[{"effect":"NoExecute","operator":"Exists"},{"key":"b"}],"containers":[` +
		`{"image":"web:1","name":"web","ports":[{"containerPort":80}],"env":[{"name":"A","value":"1"}]},` +
		`{"image":"log:1","name":"log","livenessProbe":{"periodSeconds":3}}]},"status":{"hostIP":"192.0.2.1",` +
		`"conditions":[{"type":"Ready","status":"True","reason":"Fine"},{"type":"Mine","status":"False","message":"m"}]}}`
)

// TestModifyKeepsUndeclaredFieldsOfListItems checks that the lists of a patch have the fields that the Go type does not
// declare, since a merge patch replaces each list.
func TestModifyKeepsUndeclaredFieldsOfListItems(t *testing.T) {
	const (
		web = `{"env":[{"name":"A","value":"1"}],"image":"web:1","name":"web","ports":[{"containerPort":80}]}`
		log = `{"image":"log:1","livenessProbe":{"periodSeconds":3},"name":"log"}`
	)
	web2 := strings.Replace(web, "web:1", "web:2", 1)
	containers := func(list ...string) string { return `{"spec":{"containers":[` + strings.Join(list, ",") + `]}}` }
	tests := []struct {
		name   string
		change func(*leanPod)
		want   string // the patch, without the resource version; empty: no patch
	}{
		{"nothing changes", func(*leanPod) {}, ""},
		{"a field of an item", func(p *leanPod) { p.Spec.Containers[0].Image = "web:2" }, containers(web2, log)},
		{"items change places", func(p *leanPod) { slices.Reverse(p.Spec.Containers) }, containers(log, web)},
		{"items change places, and one changes", func(p *leanPod) {
			slices.Reverse(p.Spec.Containers)
			p.Spec.Containers[1].Image = "web:2"
		}, containers(log, web2)},
		{"an item is removed", func(p *leanPod) { p.Spec.Containers = p.Spec.Containers[1:] }, containers(log)},
		{"an item is inserted", func(p *leanPod) {
			p.Spec.Containers = slices.Insert(p.Spec.Containers, 0, leanContainer{"new", "new:1"})
		}, containers(`{"image":"new:1","name":"new"}`, web, log)},
		{"an item is replaced by one of another name", func(p *leanPod) {
			p.Spec.Containers[0] = leanContainer{"new", "new:1"}
		}, containers(`{"image":"new:1","name":"new"}`, log)},
		{"a list is made anew", func(p *leanPod) {
			p.Spec.Containers = []leanContainer{{"log", "log:1"}, {"web", "web:2"}}
		}, containers(log, web2)},
		{"items without a name", func(p *leanPod) {
			p.Spec.Tolerations[1].Operator = "Exists"
		}, `{"spec":{"tolerations":[{"effect":"NoExecute","operator":"Exists"},{"key":"b","operator":"Exists"}]}}`},
		{"a list is removed", func(p *leanPod) { p.Spec.Tolerations = nil }, `{"spec":{"tolerations":null}}`},
		{"a struct that is left out if it is zero", func(p *leanPod) {
			p.Spec.Security.User = 2
		}, `{"spec":{"securityContext":{"runAsUser":2}}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newShelf(t, map[string]string{webPodPath: webPodJSON})
			_, err := client.Namespaced[leanPod](s.Client(t), "prod").Modify(t.Context(), "web", func(p *leanPod) error {
				tt.change(p)
				return nil
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			checkPatch(t, s, tt.want)
		})
	}
	t.Run("of the status", func(t *testing.T) {
		s := newShelf(t, map[string]string{webPodPath: webPodJSON})
		status := client.Namespaced[leanPod](s.Client(t), "prod").Status()
		_, err := status.Modify(t.Context(), "web", func(p *leanPod) error {
			p.Status.Conditions[1].Status = "True"
			p.Status.Conditions = append(p.Status.Conditions, leanCondition{"New", "True"})
			return nil
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		checkPatch(t, s, `{"status":{"conditions":[{"reason":"Fine","status":"True","type":"Ready"},`+
			`{"message":"m","status":"True","type":"Mine"},{"status":"True","type":"New"}]}}`)
	})
	t.Run("of each commit of an entry", func(t *testing.T) {
		s := newShelf(t, map[string]string{webPodPath: webPodJSON})
		entry, err := client.Namespaced[leanPod](s.Client(t), "prod").Entry(t.Context(), "web", nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, image := range []string{"web:2", "web:3"} {
			entry.Object().Spec.Containers[0].Image = image
			if _, err := entry.Commit(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			checkPatch(t, s, containers(strings.Replace(web, "web:1", image, 1), log))
		}
	})
}

// TestModifyKeepsFieldsOfNewerServers checks that a type of k8s.io/api does not remove fields that only a newer server
// has, although an API of the type prefers protobuf, which would not show them.
func TestModifyKeepsFieldsOfNewerServers(t *testing.T) {
	const path = "/apis/apps/v1/namespaces/prod/deployments/web"
	s := newShelf(t, map[string]string{path: `{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"web",` +
		`"namespace":"prod"},"spec":{"selector":{},"template":{"spec":{"containers":[{"name":"web","image":"a","future":7}]}}}}`})
	deployments := client.Namespaced[appsv1.Deployment](s.Client(t), "prod").PreferEncoding(wire.Protobuf)
	_, err := deployments.Modify(t.Context(), "web", func(d *appsv1.Deployment) error {
		d.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "A"}}
		return nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, ask := range s.Asked() {
		if accept := ask.Header.Get("Accept"); accept != jsonType {
			t.Errorf("%s accepts %s, want %s", ask.Method, accept, jsonType)
		}
	}
	checkPatch(t, s, `{"spec":{"template":{"spec":{"containers":[`+
		`{"env":[{"name":"A"}],"future":7,"image":"a","name":"web"}]}}}}`)
}

// TestModifyOfMetadata checks that metadata is compared with the metadata in the response, which has another kind.
func TestModifyOfMetadata(t *testing.T) {
	meta := `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"web","namespace":"prod",` +
		`"ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"a","uid":"1","future":true}]}}`
	s := newShelf(t, map[string]string{webPodPath: meta})
	pods := client.Namespaced[leanPod](s.Client(t), "prod").Metadata()
	_, err := pods.Modify(t.Context(), "web", func(m *metav1.PartialObjectMetadata) error {
		m.Labels = map[string]string{"a": "b"}
		m.OwnerReferences = append(m.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: "b", UID: "2"})
		return nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	asks := s.Asked()
	want := `{"metadata":{"labels":{"a":"b"},"ownerReferences":[{"apiVersion":"v1","future":true,"kind":"Node","name":"a",` +
		`"uid":"1"},{"apiVersion":"v1","kind":"Pod","name":"b","uid":"2"}],"resourceVersion":"1"}}`
	if got := asks[len(asks)-1].Body; got != want {
		t.Errorf("patch = %s, want %s", got, want)
	}
}

// checkPatch checks the last patch, without its resource version. An empty one stands for no patch.
func checkPatch(t testing.TB, s *shelf, want string) {
	t.Helper()
	asks := s.Asked()
	last := asks[len(asks)-1]
	if want == "" {
		if last.Method != http.MethodGet {
			t.Errorf("%s was sent, want no patch", last.Body)
		}
		return
	}
	var got, wanted map[string]any
	if err := json.Unmarshal([]byte(last.Body), &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(want), &wanted); err != nil {
		t.Fatal(err)
	}
	if metadata, _ := got["metadata"].(map[string]any); len(metadata) != 1 || metadata["resourceVersion"] == nil {
		t.Errorf("metadata = %v, want the resource version", metadata)
	}
	delete(got, "metadata")
	if diff := cmp.Diff(wanted, got); diff != "" {
		t.Errorf("patch (-want +got):\n%s", diff)
	}
}
