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
	for _, file := range []string{"deploy/namespace.yaml", "rbac/role.yaml", "deploy/controller.yaml"} {
		applyAll(t, c, readObjects(t, filepath.Join(u.dir, "config", file)))
	}

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
			if err := kube.DeleteAndWait(ctx, api, obj.GetName(), nil); err != nil && !errors.Is(err, kube.ErrNotFound) {
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
	env, err := os.ReadFile(filepath.Join(node, "env"))
	if err != nil {
		t.Fatal(err)
	}
	bridge := regexp.MustCompile(`NODE_BRIDGE='(\w+)'`).FindSubmatch(env)
	if bridge == nil {
		t.Fatalf("%s/env has no NODE_BRIDGE:\n%s", node, env)
	}
	device, address := string(bridge[1]), service.Spec.ClusterIP
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
