// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/tests/cluster"
)

// testDeployed checks that the image and the manifests of a new project run a controller that works in a cluster, with
// the permissions and restrictions of its manifests; and that the second replica takes over when the pod of the leader
// is deleted.
func testDeployed(t *testing.T, u user, group string) {
	c := clusterWithNode(t)
	loadImages(t, c, u.buildImage(t, "docker.io/library/order-controller:dev"))

	definitions := kube.Dynamic(c, kube.CRDResource())
	for _, plural := range []string{"orders", "invoices"} {
		applyAll(t, c, readObjects(t, filepath.Join(u.dir, "config/crd", group+"_"+plural+".yaml")))
		if _, err := kube.Await(limit(t), definitions, plural+"."+group, kube.Ready, nil); err != nil {
			t.Fatal(err)
		}
	}
	applyAll(t, c, readObjects(t, filepath.Join(u.dir, "config", "deploy", "namespace.yaml")))
	applyAll(t, c, readObjects(t, filepath.Join(u.dir, "config", "rbac", "role.yaml")))
	applyAll(t, c, u.webhooks(t))
	applyAll(t, c, readObjects(t, filepath.Join(u.dir, "config", "deploy", "controller.yaml")))

	deployments := kube.Namespaced[appsv1.Deployment](c, "order-system")
	pods := kube.Namespaced[corev1.Pod](c, "order-system")
	t.Cleanup(func() {
		if t.Failed() {
			logPods(t, pods, kube.Namespaced[corev1.Event](c, "order-system"))
		}
	})
	awaitDeployed(t, deployments)
	leases := kube.Namespaced[coordinationv1.Lease](c, "order-system")
	first := awaitLeader(t, leases, "")
	ns := newNamespace(t, c)
	resource := kube.Resource{Group: group, Version: "v1", Kind: "Order", Plural: "orders", Namespaced: true}
	orders := kube.Dynamic(c, resource).In(ns)
	checkReconciled(t, c, orders, "first")
	ready := kube.StatusCondition[unstructured.Unstructured]("Ready", "True")
	if _, err := kube.Await(limit(t), orders, "first", ready, nil); err != nil {
		t.Error(err)
	}
	eventually(t, "an event exists", func(ctx context.Context) error {
		events, err := kube.Namespaced[corev1.Event](c, ns).List(ctx, nil)
		if err == nil && len(events.Items) == 0 {
			err = errors.New("no events")
		}
		return err
	})

	for pod, err := range pods.All(limit(t), nil) {
		if err != nil {
			t.Fatal(err)
		}
		checkEndpoints(t, pods, pod.Name)
	}

	kind := kube.Resource{Group: group, Kind: "Invoice", Plural: "invoices", Namespaced: true}
	checkWebhooks(t, c, kind)

	began := time.Now()
	if err := pods.Delete(limit(t), first, nil); err != nil {
		t.Fatal(err)
	}
	second := awaitLeader(t, leases, first)
	t.Logf("%s leads %v after the deletion of the pod of the leader, %s", second, time.Since(began), first)
	checkReconciled(t, c, orders, "second")
	for _, name := range []string{"first", "second"} {
		if err := kube.DeleteAndWait(limit(t), orders, name, nil); err != nil {
			t.Errorf("delete %s, which has a finalizer: %v", name, err)
		}
	}
	log, err := podVerbs(pods).Logs(limit(t), second, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	text, err := io.ReadAll(log)
	if err != nil || !strings.Contains(string(text), "reconciled") || strings.Contains(string(text), "ERROR") {
		t.Errorf("log of the controller, %v:\n%s", err, text)
	}
}

// webhooks returns the objects that the webhooks of a project need: their service and the two configurations.
func (u user) webhooks(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(u.dir, "config", "webhook", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var objects []*unstructured.Unstructured
	for _, file := range files {
		objects = append(objects, readObjects(t, file)...)
	}
	if len(objects) != 3 {
		t.Errorf("the files %q have %d objects, want 3", files, len(objects))
	}
	return objects
}

// checkWebhooks checks that the server calls the webhooks in the pods: a new object is annotated, a change of a frozen
// object is denied, and an object is converted.
func checkWebhooks(t *testing.T, c *kube.Client, kind kube.Resource) {
	t.Helper()
	ns := newNamespace(t, c)
	v1, v2 := kind, kind
	v1.Version, v2.Version = "v1", "v2"
	others, invoices := kube.Dynamic(c, v2).In(ns), kube.Dynamic(c, v1).In(ns)
	eventually(t, "an object of version v2 is created", func(ctx context.Context) error { // once the bundles are written
		_, err := others.Create(ctx, &unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{
				"name": "paid", "annotations": map[string]any{kind.Group + "/frozen": "true"},
			},
			"spec": map[string]any{"message": "converted"},
		}}, nil)
		return err
	})
	got, err := invoices.Get(limit(t), "paid", nil)
	if err != nil {
		t.Fatal(err)
	}
	message, _, _ := unstructured.NestedString(got.Object, "spec", "message")
	creator := got.GetAnnotations()[kind.Group+"/creator"]
	if message != "converted" || got.GetAPIVersion() != kind.Group+"/v1" || creator == "" {
		t.Errorf("the object of version v2 is %v in version v1, want it converted, with its creator", got.Object)
	}
	change := kube.MergePatch(map[string]any{"spec": map[string]any{"message": "changed"}})
	if _, err := invoices.Patch(limit(t), "paid", change, nil); !errors.Is(err, kube.ErrForbidden) ||
		!strings.Contains(err.Error(), "spec: the object is frozen") {
		t.Errorf("a change of a frozen object: %v, want a denial by the webhook", err)
	}
	if err := kube.DeleteAndWait(limit(t), invoices, "paid", nil); err != nil {
		t.Error(err)
	}
}

// awaitLeader waits until a lease has another holder than the given pod, and returns the name of its pod.
func awaitLeader(t *testing.T, leases *kube.API[coordinationv1.Lease], not string) string {
	t.Helper()
	var leader string
	_, err := kube.Await(limit(t), leases, "order-controller", func(l *coordinationv1.Lease) error {
		holder := ""
		if l.Spec.HolderIdentity != nil {
			holder = *l.Spec.HolderIdentity
		}
		if leader, _, _ = strings.Cut(holder, "_"); leader == "" || leader == not {
			return fmt.Errorf("the lease is held by %q", holder)
		}
		return nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return leader
}

// checkEndpoints checks the probes and the metrics of a replica.
func checkEndpoints(t *testing.T, pods *kube.API[corev1.Pod], name string) {
	t.Helper()
	f, err := podVerbs(pods).PortForward(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := httpThrough(t, f)
	for path, want := range map[string]string{
		"8081/livez":           "ok",
		"8081/readyz":          "ok",
		"8081/readyz/webhooks": "ok",
		"8080/metrics":         "\ncontroller_runtime_reconcile_total{",
	} {
		if got, err := get(t, c, "http://"+name+":"+path); err != nil || !strings.Contains(got, want) {
			t.Errorf("%s of %s = %q, %v, want %q in it", path, name, got, err, want)
		}
	}
}

// logPods logs the events and the logs of pods.
func logPods(t *testing.T, pods *kube.API[corev1.Pod], events *kube.API[corev1.Event]) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Second)
	defer cancel()
	for e, err := range events.All(ctx, nil) {
		if err != nil {
			t.Log(err)
			break
		}
		t.Logf("%s %s: %s: %s", e.InvolvedObject.Kind, e.InvolvedObject.Name, e.Reason, e.Message)
	}
	for line, err := range kube.MergeLogs(ctx, pods, nil) {
		if err != nil {
			t.Log(err)
			break
		}
		t.Logf("%s: %s", line.Pod, line.Text)
	}
}

// applyAll applies objects in the same way as kubectl apply --server-side, and deletes them when the test ends.
func applyAll(t *testing.T, c *kube.Client, objects []*unstructured.Unstructured) {
	t.Helper()
	mapper := kube.NewMapper(c, nil)
	for _, obj := range objects {
		res, err := mapper.ForObject(limit(t), obj)
		if err != nil {
			t.Fatal(err)
		}
		api := kube.Dynamic(c, res).In(obj.GetNamespace())
		if _, err := api.Apply(limit(t), obj, &kube.ApplyOptions{FieldManager: "e2e"}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 2*time.Minute)
			defer cancel()
			// Wait for the pods, too: the deletion of a namespace that still has some takes half of their grace period.
			o := &kube.DeleteOptions{Propagation: "Foreground"}
			if err := kube.DeleteAndWait(ctx, api, obj.GetName(), o); err != nil && !errors.Is(err, kube.ErrNotFound) {
				t.Error(err)
			}
		})
	}
}

// awaitDeployed waits until both replicas are available.
func awaitDeployed(t *testing.T, deployments *kube.API[appsv1.Deployment]) {
	t.Helper()
	awaitRollout(t, deployments, "order-controller", func(d *appsv1.Deployment) bool {
		s := d.Status
		return s.ObservedGeneration == d.Generation && s.UpdatedReplicas == 2 && s.AvailableReplicas == 2 && s.Replicas == 2
	})
}

// checkReconciled creates an object and waits for the ConfigMap that the controller creates for it.
func checkReconciled(t *testing.T, c *kube.Client, orders *kube.API[unstructured.Unstructured], name string) {
	t.Helper()
	order := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": name}, "spec": map[string]any{"message": "I am " + name},
	}}
	created, err := orders.Create(limit(t), order, nil)
	if err != nil {
		t.Fatal(err)
	}
	maps := kube.Namespaced[corev1.ConfigMap](c, created.GetNamespace())
	own := strings.ToLower(created.GetKind()) + "-" + name
	_, err = kube.Await(limit(t), maps, own, func(cm *corev1.ConfigMap) error {
		if got, want := cm.Data["message"], "I am "+name; got != want {
			return fmt.Errorf("message = %q, want %q", got, want)
		}
		return nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
}

// loadImages loads the images of an archive into the node of a cluster that kubecluster started on this machine. It
// skips the test for other clusters.
func loadImages(t *testing.T, c *kube.Client, archive string) {
	t.Helper()
	file, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := clusterOf(t, c).LoadImages(limit(t), file); err != nil {
		t.Fatal(err)
	}
}

// clusterOf returns the cluster that kubecluster has started on this machine for a client.
func clusterOf(t *testing.T, c *kube.Client) *cluster.Cluster {
	t.Helper()
	if started != nil && started.URL() == c.Server() {
		return started
	}
	cache, err := cluster.DefaultCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dirs, err := filepath.Glob(filepath.Join(cache, "clusters", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		if found, err := cluster.Open(dir); err == nil && found.URL() == c.Server() {
			return found
		}
	}
	t.Skip("needs a node that kubecluster has started on this machine, to load an image")
	return nil
}
