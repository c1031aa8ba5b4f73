// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/tests/cluster"
)

// testDeployed checks that the image and the manifests of a new project run a controller that works in a cluster, with
// the permissions and restrictions of its manifests; and that the second replica takes over when the pod of the leader
// is deleted.
func testDeployed(t *testing.T, u user, group string) {
	c := clusterWithNode(t)
	node := nodeDir(t, c)
	reachServer(t, c, node)
	const image = "docker.io/library/order-controller:dev"
	images(t, node, "import", u.buildImage(t, image))
	t.Cleanup(func() { images(t, node, "rm", image) })

	definitions := kube.Dynamic(c, kube.CRDResource())
	established := kube.Established[unstructured.Unstructured]()
	for _, plural := range []string{"orders", "invoices"} {
		applyAll(t, c, readObjects(t, filepath.Join(u.dir, "config/crd", group+"_"+plural+".yaml")))
		if _, err := kube.Await(limit(t), definitions, plural+"."+group, established, nil); err != nil {
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
	checkWebhooks(t, c, pods, first, kind, node)

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

// checkWebhooks checks that the server calls the webhooks in the pod that does not lead, and which stays: a new object is
// annotated, a change of a frozen object is denied, and an object is converted.
func checkWebhooks(
	t *testing.T, c *kube.Client, pods *kube.API[corev1.Pod], leader string, kind kube.Resource, node string,
) {
	t.Helper()
	service, err := kube.Namespaced[corev1.Service](c, "order-system").Get(limit(t), "order-controller", nil)
	if err != nil {
		t.Fatal(err)
	}
	for pod, err := range pods.All(limit(t), nil) {
		if err != nil {
			t.Fatal(err)
		}
		if pod.Name != leader {
			serveService(t, node, service, net.JoinHostPort(pod.Status.PodIP, "9443"))
		}
	}

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

// serveService makes a service available to the API server at its address, as kube-proxy does in other clusters.
func serveService(t *testing.T, node string, service *corev1.Service, address string) {
	t.Helper()
	own := service.Spec.ClusterIP
	ip(t, "address", "replace", own+"/32", "dev", bridgeOf(t, node))
	t.Cleanup(func() { ip(t, "address", "delete", own+"/32", "dev", bridgeOf(t, node)) })
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", net.JoinHostPort(own, "443"))
	if err != nil {
		t.Fatal(err)
	}
	forward(t, listener, address)
}

// bridgeOf returns the network device of the pods of a node.
func bridgeOf(t *testing.T, node string) string {
	t.Helper()
	env, err := os.ReadFile(filepath.Join(node, "env"))
	if err != nil {
		t.Fatal(err)
	}
	bridge := regexp.MustCompile(`NODE_BRIDGE='(\w+)'`).FindSubmatch(env)
	if bridge == nil {
		t.Fatalf("%s/env has no NODE_BRIDGE:\n%s", node, env)
	}
	return string(bridge[1])
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
	_, err = kube.Await(limit(t), maps, name, func(cm *corev1.ConfigMap) error {
		if got, want := cm.Data["message"], "I am "+name; got != want {
			return fmt.Errorf("message = %q, want %q", got, want)
		}
		return nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
}

// nodeDir returns the directory of the node of a cluster that kubecluster started on this machine. It skips the test
// for other clusters, because the test cannot import an image into their nodes.
func nodeDir(t *testing.T, c *kube.Client) string {
	t.Helper()
	files := []string{}
	if started != nil {
		files = append(files, started.Kubeconfig())
	}
	if cache, err := cluster.DefaultCacheDir(); err == nil {
		found, err := filepath.Glob(filepath.Join(cache, "clusters", "*", "admin.kubeconfig"))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	for _, file := range files {
		var config struct {
			Clusters []struct{ Cluster struct{ Server string } }
		}
		if text, err := os.ReadFile(file); err != nil || yaml.Unmarshal(text, &config) != nil {
			continue // the cluster was stopped meanwhile
		}
		node := filepath.Join(filepath.Dir(file), "node")
		_, err := os.Stat(node)
		if err == nil && len(config.Clusters) == 1 && config.Clusters[0].Cluster.Server == c.Server() {
			return node
		}
	}
	t.Skip("needs a node that kubecluster has started on this machine, to import an image")
	return ""
}

// images runs a subcommand of ctr images on a node.
func images(t *testing.T, node string, args ...string) {
	t.Helper()
	ctr := append([]string{"ctr", "--namespace", "k8s.io", "images"}, args...)
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), filepath.Join(node, "enter"), ctr...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", ctr, err, out)
	}
}

// reachServer makes the API server available to the pods of a node at the address in their environment. In other
// clusters, kube-proxy does that. Here, the server listens only on the loopback interface, and the pods have a separate
// network.
func reachServer(t *testing.T, c *kube.Client, node string) {
	t.Helper()
	service, err := kube.Namespaced[corev1.Service](c, "default").Get(limit(t), "kubernetes", nil)
	if err != nil {
		t.Fatal(err)
	}
	server, err := url.Parse(c.Server())
	if err != nil {
		t.Fatal(err)
	}
	device, address := bridgeOf(t, node), service.Spec.ClusterIP
	ip(t, "address", "replace", address+"/32", "dev", device)
	t.Cleanup(func() { ip(t, "address", "delete", address+"/32", "dev", device) })
	listener, err := listenOn(t.Context(), device, net.JoinHostPort(address, "443"))
	if err != nil {
		t.Fatal(err)
	}
	forward(t, listener, server.Host)
}

func ip(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(context.WithoutCancel(t.Context()), "ip", args...).CombinedOutput(); err != nil {
		t.Errorf("ip %v: %v\n%s", args, err, out)
	}
}

// forward forwards the connections of a listener to an address until the test ends.
func forward(t *testing.T, listener net.Listener, address string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { forwardConn(ctx, from, address) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close() // ends Accept
		cancel()
		wg.Wait()
	})
}

// forwardConn forwards a connection to an address until one side closes it or the context ends.
func forwardConn(ctx context.Context, from net.Conn, address string) {
	defer from.Close()
	to, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return
	}
	closeBoth := func() { _, _ = from.Close(), to.Close() } // ends both copies
	defer context.AfterFunc(ctx, closeBoth)()
	var wg sync.WaitGroup
	for _, pair := range [][2]net.Conn{{from, to}, {to, from}} {
		wg.Go(func() {
			defer closeBoth()
			_, _ = io.Copy(pair[0], pair[1]) // the client or the server reports the error
		})
	}
	wg.Wait()
}
