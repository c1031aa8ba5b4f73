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
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/kube-go/sdk/client/rollout"
	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/tests/cluster"
)

// testDeployed promises that what make image and make deploy make of a started project is a controller that does its work
// in a cluster, with the rights and in the confinement that its manifests give it, and that comes back.
func testDeployed(t *testing.T, u stranger, group string) {
	c := clusterWithNode(t)
	node := nodeDir(t, c)
	reachServer(t, c, node)
	const image = "docker.io/library/order-controller:dev"
	images(t, node, "import", u.buildImage(t, image))
	t.Cleanup(func() { images(t, node, "rm", image) })

	applyAll(t, c, readObjects(t, filepath.Join(u.dir, "config/crd", group+"_orders.yaml")))
	definitions := kube.Dynamic(c, kube.CRDResource())
	if _, err := kube.Await(limit(t), definitions, "orders."+group, kube.Established[unstructured.Unstructured](), nil); err != nil {
		t.Fatal(err)
	}
	applyAll(t, c, readObjects(t, filepath.Join(u.dir, "config/rbac/role.yaml")))
	applyAll(t, c, readObjects(t, filepath.Join(u.dir, "config/deploy/controller.yaml")))

	deployments := kube.Namespaced[appsv1.Deployment](c, "order-system")
	pods := kube.Namespaced[corev1.Pod](c, "order-system")
	t.Cleanup(func() {
		if t.Failed() {
			tellOf(t, pods, kube.Namespaced[corev1.Event](c, "order-system"))
		}
	})
	first := deployed(t, deployments, pods)
	ns := newNamespace(t, c)
	orders := kube.Dynamic(c, kube.Resource{Group: group, Version: "v1", Kind: "Order", Plural: "orders", Namespaced: true}).In(ns)
	publishes(t, c, orders, "first")
	if _, err := kube.Await(limit(t), orders, "first", kube.StatusCondition[unstructured.Unstructured]("Ready", "True"), nil); err != nil {
		t.Error(err)
	}
	eventually(t, "the event is there", func(ctx context.Context) error {
		events, err := kube.Namespaced[corev1.Event](c, ns).List(ctx, nil)
		if err == nil && len(events.Items) == 0 {
			err = errors.New("there is none")
		}
		return err
	})

	if _, err := rollout.Restart(limit(t), deployments, "order-controller", nil); err != nil {
		t.Fatal(err)
	}
	second := deployed(t, deployments, pods)
	if first == second {
		t.Errorf("a restart has left pod %s", first)
	}
	publishes(t, c, orders, "second")
	for _, name := range []string{"first", "second"} {
		if err := kube.DeleteAndWait(limit(t), orders, name, nil); err != nil {
			t.Errorf("its finalizer does not let it go: %v", err)
		}
	}
	log, err := podVerbs(pods).Logs(limit(t), second, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if text, err := io.ReadAll(log); err != nil || !strings.Contains(string(text), "reconciled") || strings.Contains(string(text), "ERROR") {
		t.Errorf("the controller has logged, %v:\n%s", err, text)
	}
}

// tellOf logs what is known of pods that do not do what they should.
func tellOf(t *testing.T, pods *kube.API[corev1.Pod], events *kube.API[corev1.Event]) {
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

// applyAll applies objects as kubectl apply --server-side does, and removes them when the test ends.
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

// deployed waits until the controller is deployed and ready, and returns the name of its only pod.
func deployed(t *testing.T, deployments *kube.API[appsv1.Deployment], pods *kube.API[corev1.Pod]) string {
	t.Helper()
	awaitRollout(t, deployments, "order-controller", func(d *appsv1.Deployment) bool {
		s := d.Status
		return s.ObservedGeneration == d.Generation && s.UpdatedReplicas == 1 && s.AvailableReplicas == 1 && s.Replicas == 1
	})
	var names []string
	for pod, err := range pods.All(limit(t), nil) {
		if err != nil {
			t.Fatal(err)
		}
		if pod.DeletionTimestamp == nil {
			names = append(names, pod.Name)
		}
	}
	if len(names) != 1 {
		t.Fatalf("the pods are %v, want one", names)
	}
	return names[0]
}

// publishes makes an object and waits for what the controller makes of it.
func publishes(t *testing.T, c *kube.Client, orders *kube.API[unstructured.Unstructured], name string) {
	t.Helper()
	order := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": name}, "spec": map[string]any{"message": "I am " + name},
	}}
	created, err := orders.Create(limit(t), order, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = kube.Await(limit(t), kube.Namespaced[corev1.ConfigMap](c, created.GetNamespace()), name, func(cm *corev1.ConfigMap) error {
		if got := cm.Data["message"]; got != "I am "+name {
			return fmt.Errorf("its message is %q", got)
		}
		return nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
}

// nodeDir returns the directory of the node of a cluster that kubecluster has started on this machine. To others, the test
// can't bring an image.
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
			continue // it was stopped meanwhile
		}
		node := filepath.Join(filepath.Dir(file), "node")
		if _, err := os.Stat(node); err == nil && len(config.Clusters) == 1 && config.Clusters[0].Cluster.Server == c.Server() {
			return node
		}
	}
	t.Skip("needs a node that kubecluster has started on this machine, to bring an image to it")
	return ""
}

// images does something with the images of a node.
func images(t *testing.T, node string, args ...string) {
	t.Helper()
	ctr := append([]string{"ctr", "--namespace", "k8s.io", "images"}, args...)
	out, err := exec.CommandContext(context.WithoutCancel(t.Context()), filepath.Join(node, "enter"), ctr...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", ctr, err, out)
	}
}

// reachServer lets the pods of a node reach the API server at the address that each finds in its environment. In other
// clusters kube-proxy does that; here, the server listens on loopback only, and pods have a network of their own.
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
		t.Fatalf("%s/env names no bridge:\n%s", node, env)
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

// forward connects whoever connects to the listener with an address, until the test ends.
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
			wg.Go(func() { connectWith(ctx, from, address) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close() // it is only listened on
		cancel()
		wg.Wait()
	})
}

// connectWith copies between a connection and one to an address, until one of them or the context ends.
func connectWith(ctx context.Context, from net.Conn, address string) {
	defer from.Close()
	to, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return
	}
	closeBoth := func() { _, _ = from.Close(), to.Close() } // which ends both copies
	defer context.AfterFunc(ctx, closeBoth)()
	var wg sync.WaitGroup
	for _, pair := range [][2]net.Conn{{from, to}, {to, from}} {
		wg.Go(func() {
			defer closeBoth()
			_, _ = io.Copy(pair[0], pair[1]) // one of the two ends sees why it ended
		})
	}
	wg.Wait()
}
