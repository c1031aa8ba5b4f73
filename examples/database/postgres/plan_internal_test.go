// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"path"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kube-go/sdk/core/machine"
	v1 "github.com/kube-go/sdk/examples/database/api/v1"
	"github.com/kube-go/sdk/kube"
)

// objects is a transport to a server that has objects, by their names.
type objects map[string]any

// RoundTrip responds to a request.
func (s objects) RoundTrip(r *http.Request) (*http.Response, error) {
	code, object := http.StatusOK, s[path.Base(r.URL.Path)]
	if object == nil {
		code = http.StatusNotFound
		object = metav1.Status{Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound}
	}
	body, err := json.Marshal(object)
	if r.Method == http.MethodPatch {
		code = http.StatusOK
		body, err = io.ReadAll(r.Body)
	}
	return &http.Response{
		StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(body)),
	}, err
}

// TestAnEvictedPodIsReplacedDuringAnUpgrade checks that the failed pod of an upgraded replica is deleted while the next
// replica waits for it.
func TestAnEvictedPodIsReplacedDuringAnUpgrade(t *testing.T) {
	pods, now := objects{}, metav1.NowMicro()
	db := &v1.Database{
		ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "shop", UID: "1", Generation: 1},
		Spec:       v1.DatabaseSpec{Version: "18", Replicas: 2},
	}
	db.Status.Version = "17"
	for i, phase := range []corev1.PodPhase{corev1.PodFailed, corev1.PodRunning} {
		pod := podOf(db, int32(i))
		pod.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
		pod.Namespace, pod.UID, pod.Labels = "prod", "2", map[string]string{servingLabel: "true"}
		pod.OwnerReferences = []metav1.OwnerReference{{UID: db.UID, Controller: new(true)}}
		pod.Spec.Containers = []corev1.Container{{Image: image + []string{"18", "17"}[i]}}
		pod.Status.Phase = phase
		if phase == corev1.PodRunning {
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		}
		pods[pod.Name] = pod
		db.Status.Inventory = append(db.Status.Inventory, machine.Item{
			Version: "v1", Kind: "Pod", Namespace: "prod", Name: pod.Name, UID: pod.UID, Part: "Upgrade",
		})
	}
	raw := func(text string) *runtime.RawExtension { return &runtime.RawExtension{Raw: []byte(text)} }
	db.Status.FSM = &machine.Position{
		State: "Upgrade", Data: raw(`{"version":"18"}`), Since: now, Generation: 1, Visits: map[string]int32{"Upgrade": 1},
		Children: map[string]machine.Child{"Replica.shop-0": {
			State: "Upgraded", Data: raw(`{"index":0}`), Since: now, Generation: 1, Visits: map[string]int32{"Upgraded": 1},
		}},
	}
	c, err := kube.NewClient(t.Context(), &kube.ClientOptions{
		Config: &kube.Config{Server: "https://cluster.test"}, Transport: pods,
	})
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(c, nil).Plan(t.Context(), db)
	if err != nil || p.Err != nil {
		t.Fatalf("the plan is %+v, %v", p, err)
	}
	var actions []string
	for _, a := range p.Actions {
		actions = append(actions, a.Verb+" "+a.Item.Name)
	}
	if want := []string{"delete shop-0"}; !slices.Equal(actions, want) {
		t.Errorf("the plan of the states %q has the actions %q, want %q", p.States, actions, want)
	}
}

// TestADatabaseOfADeletedNamespaceIsReleased checks that a namespace that is being deleted gets no final backup.
func TestADatabaseOfADeletedNamespaceIsReleased(t *testing.T) {
	namespace := &corev1.Namespace{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
		ObjectMeta: metav1.ObjectMeta{Name: "prod", UID: "2", DeletionTimestamp: new(metav1.Now())},
	}
	db := &v1.Database{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "prod", Name: "shop", UID: "1", Generation: 1, Finalizers: []string{Name},
			DeletionTimestamp: new(metav1.Now()),
		},
		Spec: v1.DatabaseSpec{Version: "18", Replicas: 1},
	}
	db.Status.Version = "18"
	c, err := kube.NewClient(t.Context(), &kube.ClientOptions{
		Config: &kube.Config{Server: "https://cluster.test"}, Transport: objects{"prod": namespace},
	})
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(c, nil).Plan(t.Context(), db)
	if err != nil || p.Err != nil || !p.Done || len(p.Actions) > 0 {
		t.Errorf("the plan is %+v, %v, want that it is done without actions", p, err)
	}
}
