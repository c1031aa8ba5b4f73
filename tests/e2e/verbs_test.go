// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client/middleware"
	v1 "github.com/kube-go/sdk/examples/document-controller/api/v1"
	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/runtime/wait"
)

// TestModifyLosesNoChange checks that concurrent changes are not lost, and that fields that the type does not declare
// are kept.
func TestModifyLosesNoChange(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	ns := newNamespace(t, c)
	maps := kube.Namespaced[corev1.ConfigMap](c, ns)
	cm := configMap("counter", "0")
	cm.BinaryData = map[string][]byte{"raw": {1, 2, 3}}
	if _, err := maps.Create(t.Context(), cm, nil); err != nil {
		t.Fatal(err)
	}
	const writers = 20
	lean := kube.Namespaced[leanConfigMap](c, ns)
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			_, err := lean.Modify(limit(t), "counter", func(cm *leanConfigMap) error {
				n, err := strconv.Atoi(cm.Data["v"])
				cm.Data["v"] = strconv.Itoa(n + 1)
				return err
			}, &kube.ModifyOptions{MaxAttempts: 100})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	got, err := maps.Get(t.Context(), "counter", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got.Data["v"] != strconv.Itoa(writers) || len(got.BinaryData["raw"]) != 3 {
		t.Errorf("after %d changes: %v, %v, want all changes and the binary data", writers, got.Data, got.BinaryData)
	}
	same, err := lean.Modify(t.Context(), "counter", func(*leanConfigMap) error { return nil }, nil)
	if err != nil || same.ResourceVersion != got.ResourceVersion {
		t.Errorf("Modify without a change = %v, %v; want version %s", same, err, got.ResourceVersion)
	}
}

// imageDeployment declares the names and images of containers, and the types and states of conditions.
type imageDeployment struct {
	metav1.TypeMeta   `json:""`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec struct {
		Template struct {
			Spec struct {
				Containers []imageContainer `json:"containers"`
			} `json:"spec"`
		} `json:"template"`
	} `json:"spec"`
	Status struct {
		Conditions []stateCondition `json:"conditions,omitempty"`
	} `json:"status,omitzero"`
}

type imageContainer struct {
	Name  string `json:"name"`
	Image string `json:"image"`
}

type stateCondition struct {
	Type   string `json:"type"`
	Status string `json:"status"`
}

func (*imageDeployment) KubeResource() kube.Resource {
	return kube.Resource{Group: "apps", Version: "v1", Kind: "Deployment", Plural: "deployments", Namespaced: true}
}

// TestModifyKeepsUndeclaredFieldsOfListItems checks that the server still has the fields of containers and conditions
// that the type does not declare, also if items move.
func TestModifyKeepsUndeclaredFieldsOfListItems(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	ns := newNamespace(t, c)
	full := kube.Namespaced[appsv1.Deployment](c, ns)
	labels := map[string]string{"app": "web"}
	containers := []corev1.Container{
		{
			Name: "web", Image: "a:1", Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 80}},
			Env: []corev1.EnvVar{{Name: "COLOR", Value: "blue"}},
		},
		{Name: "proxy", Image: "p:1", Args: []string{"--quiet"}},
	}
	before, err := full.Create(limit(t), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(0)), Paused: true, // no controller changes it
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: containers},
			},
		},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}

	lean := kube.Namespaced[imageDeployment](c, ns)
	_, err = lean.Modify(limit(t), "web", func(d *imageDeployment) error {
		spec := &d.Spec.Template.Spec
		web, proxy := spec.Containers[0], spec.Containers[1]
		web.Image = "a:2"
		spec.Containers = []imageContainer{{Name: "logs", Image: "l:1"}, proxy, web}
		return nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	after, err := full.Get(limit(t), "web", nil)
	if err != nil {
		t.Fatal(err)
	}
	want := before.Spec.Template.Spec.Containers
	want[0].Image = "a:2"
	got := after.Spec.Template.Spec.Containers
	if len(got) != 3 || got[0].Image != "l:1" {
		t.Fatalf("the containers are %+v", got)
	}
	if diff := cmp.Diff([]corev1.Container{want[1], want[0]}, got[1:]); diff != "" {
		t.Errorf("the containers that are not new (-want +got):\n%s", diff)
	}

	_, err = full.Status().Modify(limit(t), "web", func(d *appsv1.Deployment) error {
		d.Status.Conditions = append(d.Status.Conditions, appsv1.DeploymentCondition{
			Type: "Checked", Status: corev1.ConditionTrue, Reason: "Fine", Message: "checked by hand",
		})
		return nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = lean.Status().Modify(limit(t), "web", func(d *imageDeployment) error {
		for i := range d.Status.Conditions {
			if d.Status.Conditions[i].Type == "Checked" {
				d.Status.Conditions[i].Status = "False"
			}
		}
		return nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	after, err = full.Get(limit(t), "web", nil)
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(after.Status.Conditions, func(c appsv1.DeploymentCondition) bool { return c.Type == "Checked" })
	if at < 0 {
		t.Fatalf("the conditions are %+v", after.Status.Conditions)
	}
	if c := after.Status.Conditions[at]; c.Status != "False" || c.Reason != "Fine" || c.Message != "checked by hand" {
		t.Errorf("the condition is %+v, want its reason and message", c)
	}
}

// TestCreateOrUpdateWorksConcurrently checks that several callers can create or update the same object at the same
// time.
func TestCreateOrUpdateWorksConcurrently(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	maps := kube.Namespaced[corev1.ConfigMap](c, newNamespace(t, c))
	const writers = 6
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			_, err := maps.CreateOrUpdate(limit(t), "shared", func(cm *corev1.ConfigMap) error {
				if cm.Data == nil {
					cm.Data = map[string]string{}
				}
				cm.Data[fmt.Sprint("w", i)] = "was here"
				return nil
			}, &kube.ModifyOptions{MaxAttempts: 100})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	got, err := maps.GetOrNil(t.Context(), "shared", nil)
	if err != nil || got == nil || len(got.Data) != writers {
		t.Errorf("GetOrNil = %v, %v; want %d keys", got, err, writers)
	}
	if other, err := maps.GetOrNil(t.Context(), "other", nil); other != nil || err != nil {
		t.Errorf("GetOrNil of a missing object = %v, %v, want nil", other, err)
	}
	entry, err := maps.Entry(t.Context(), "shared", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := maps.Patch(t.Context(), "shared", setValue("newer"), nil); err != nil {
		t.Fatal(err)
	}
	entry.Object().Data["v"] = "older"
	if _, err := entry.Commit(t.Context(), nil); !errors.Is(err, kube.ErrConflict) {
		t.Errorf("Commit of an entry whose object has changed: %v, want ErrConflict", err)
	}
}

// TestDeleteAndWaitReturnsAfterDeletion checks that the object is deleted when DeleteAndWait returns, or that the error
// says what blocks the deletion.
func TestDeleteAndWaitReturnsAfterDeletion(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	maps := kube.Namespaced[corev1.ConfigMap](c, newNamespace(t, c))
	held := configMap("held", "1")
	held.Finalizers = []string{"example.com/guard"}
	for _, cm := range []*corev1.ConfigMap{held, configMap("free", "1")} {
		if _, err := maps.Create(t.Context(), cm, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := kube.DeleteAndWait(limit(t), maps, "free", nil); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeoutCause(t.Context(), 5*time.Second, errors.New("that was long enough"))
	defer cancel()
	err := kube.DeleteAndWait(ctx, maps, "held", nil)
	const want = "that was long enough; last seen: it is being deleted and waits for the finalizers example.com/guard"
	if err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("error = %v, want one that ends with %q", err, want)
	}
	done := make(chan error, 1)
	go func() { done <- kube.DeleteAndWait(limit(t), maps, "held", nil) }()
	_, err = maps.Modify(limit(t), "held", func(cm *corev1.ConfigMap) error {
		cm.Finalizers = nil
		return nil
	}, nil)
	if err != nil {
		t.Error(err)
	}
	// The object may be deleted before the request arrives, because its deletion has already started.
	if err := <-done; err != nil && !errors.Is(err, kube.ErrNotFound) {
		t.Error(err)
	}
	if cm, err := maps.GetOrNil(t.Context(), "held", nil); cm != nil || err != nil {
		t.Errorf("GetOrNil after the deletion = %v, %v, want nil", cm, err)
	}
}

// TestDeleteAndWaitIgnoresNewObjects checks that DeleteAndWait waits for the object that it has deleted, and not for
// objects that get the same name immediately after the deletion.
func TestDeleteAndWaitIgnoresNewObjects(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	maps := kube.Namespaced[corev1.ConfigMap](c, newNamespace(t, c))
	recreate := func(ctx context.Context) error { // creates the object again after each deletion
		for ctx.Err() == nil {
			if _, err := maps.Create(ctx, configMap("web", "1"), nil); err != nil && !errors.Is(err, kube.ErrAlreadyExists) {
				return err
			}
		}
		return context.Cause(ctx)
	}
	stop := background(t, recreate)
	for range 10 {
		old, err := kube.Await(limit(t), maps, "web", wait.Exists[corev1.ConfigMap](), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := kube.DeleteAndWait(limit(t), maps, "web", &kube.DeleteOptions{UID: old.UID}); err != nil {
			t.Fatal(err)
		}
		if now, err := maps.GetOrNil(limit(t), "web", nil); err != nil || now != nil && now.UID == old.UID {
			t.Errorf("after the wait: %v, %v; want another object", now, err)
		}
	}
	if err := stop(); !errors.Is(err, errStopped) {
		t.Error(err)
	}
}

// TestAllContinuesAfterExpiration checks that an iteration continues although the server no longer has the state with
// which the iteration started. To cause this, the test puts an old resource version into the continue token of the
// second page. The kind is new, so that the server has no cache of that version.
func TestAllContinuesAfterExpiration(t *testing.T) {
	var mu sync.Mutex
	aged, rejected := 0, 0
	age := func(next http.RoundTripper) http.RoundTripper {
		return middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
			q := r.URL.Query()
			mu.Lock()
			if token := q.Get("continue"); token != "" && aged == 0 {
				aged++
				q.Set("continue", agedToken(t, token))
				r = r.Clone(r.Context())
				r.URL.RawQuery = q.Encode()
			}
			mu.Unlock()
			resp, err := next.RoundTrip(r)
			if err == nil && resp.StatusCode == http.StatusGone {
				mu.Lock()
				rejected++
				mu.Unlock()
			}
			return resp, err
		})
	}
	c := connect(t, nil)
	installDocuments(t, c)
	ns := newNamespace(t, c)
	for i := range 7 {
		doc := &v1.Document{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("page-", i)}, Spec: v1.DocumentSpec{Title: "t"}}
		if _, err := kube.Namespaced[v1.Document](c, ns).Create(t.Context(), doc, nil); err != nil {
			t.Fatal(err)
		}
	}
	if builtin != nil { // other servers compact their history at a time of their choice
		if _, err := builtin.CompactEtcd(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	slow := kube.Namespaced[v1.Document](connect(t, &kube.ClientOptions{Middleware: []kube.Middleware{age}}), ns)
	var names []string
	for doc, err := range slow.All(t.Context(), &kube.ListOptions{Limit: 3}) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, doc.Name)
	}
	want := []string{"page-0", "page-1", "page-2", "page-3", "page-4", "page-5", "page-6"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	if rejected > 1 || rejected == 0 && builtin != nil { // a new server may still have its whole history
		t.Errorf("the server has rejected %d pages, want 1", rejected)
	}
}

// agedToken returns a continue token with a very old resource version.
func agedToken(t *testing.T, token string) string {
	t.Helper()
	data, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		t.Fatal(err)
	}
	if _, ok := fields["rv"]; !ok {
		t.Fatalf("the token %s has no resource version", data)
	}
	fields["rv"] = 1
	if data, err = json.Marshal(fields); err != nil {
		t.Fatal(err)
	}
	return base64.RawURLEncoding.EncodeToString(data)
}
