// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kube-go/sdk/tests/cluster"
	"github.com/kube-go/sdk/tests/cluster/internal/node"
	"github.com/kube-go/sdk/tests/cluster/internal/testimage"
)

// needNode reports whether this machine can run a node. If it can't, it checks that Start returns the reason and a
// remedy.
func needNode(t *testing.T) bool {
	t.Helper()
	missing := node.Check()
	if missing == nil {
		return true
	}
	_, err := cluster.Start(t.Context(), &cluster.Options{Node: true})
	if err == nil || !strings.Contains(err.Error(), missing.Error()) {
		t.Errorf("Start = %v, want %v", err, missing)
	}
	t.Logf("tested only the error: %v", missing)
	return false
}

const pods = "/api/v1/namespaces/default/pods"

// runPod creates a pod with the test image and waits until it has the phase.
func runPod(t *testing.T, c *cluster.Cluster, name, args, phase string) {
	t.Helper()
	admin(t, c, http.MethodPost, pods, fmt.Sprintf(`{"metadata": {"name": %q}, "spec": {"restartPolicy": "Never",
		"terminationGracePeriodSeconds": 0, "containers": [{"name": "main", "image": %q, "imagePullPolicy": "Never",
		"args": %s}]}}`, name, cluster.TestImage, args), http.StatusCreated)
	awaitPhase(t, c, name, phase)
}

func awaitPhase(t *testing.T, c *cluster.Cluster, name, phase string) {
	t.Helper()
	var last string
	eventually(t, name+" is "+phase, func() bool {
		last = admin(t, c, http.MethodGet, pods+"/"+name, "", http.StatusOK)
		return decode[struct{ Status struct{ Phase string } }](t, last).Status.Phase == phase
	})
}

func TestNodeRunsPods(t *testing.T) {
	t.Parallel() // the other tests with a node are not: they run before
	if !needNode(t) {
		return
	}
	c := startCluster(t, &cluster.Options{Node: true})
	var names []string
	for _, component := range c.Components() {
		names = append(names, component.Name())
	}
	for _, want := range []string{cluster.Kubelet, cluster.Containerd, cluster.Forwarder} {
		if !slices.Contains(names, want) {
			t.Errorf("components = %v, without %s", names, want)
		}
	}
	runPod(t, c, "hello", `["echo", "hello", "world"]`, "Succeeded")
	// The API server calls the kubelet, and verifies its certificate.
	if log := admin(t, c, http.MethodGet, pods+"/hello/log", "", http.StatusOK); log != "hello world\n" {
		t.Errorf("log = %q, want hello world", log)
	}
	runPod(t, c, "stays", `["pause"]`, "Running")
	reachServer(t, c, "client")
	for _, name := range []string{cluster.Containerd, cluster.Kubelet, cluster.Forwarder} {
		component := c.Component(name)
		if err := component.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := component.Start(limit(t, time.Minute)); err != nil {
			t.Fatal(err)
		}
		if err := c.Ready(limit(t, time.Minute)); err != nil {
			t.Fatal(err)
		}
		runPod(t, c, "after-"+name, `["echo", "again"]`, "Succeeded")
		awaitPhase(t, c, "stays", "Running")
	}
	reachServer(t, c, "client-after-restart")
	loadImage(t, c)
	if err := c.Stop(); err != nil {
		t.Fatal(err)
	}
	gone(t, c.Dir())
}

// reachServer checks that a pod reaches the API server at the address of its service. The program in the pod does not
// trust the server's certificate, whose authority it does not know, and reports that.
func reachServer(t *testing.T, c *cluster.Cluster, name string) {
	t.Helper()
	runPod(t, c, name, `["get", "https://10.96.0.1/version"]`, "Failed")
	log := admin(t, c, http.MethodGet, pods+"/"+name+"/log", "", http.StatusOK)
	if !strings.Contains(log, "certificate signed by unknown authority") {
		t.Errorf("log = %q, want the error of a client that the server has answered", log)
	}
}

// loadImage checks that a pod can use an image that was loaded, and that an invalid archive is an error.
func loadImage(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	cache, err := cluster.DefaultCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	file, err := testimage.Build(t.Context(), cache, nil)
	if err != nil {
		t.Fatal(err)
	}
	archive, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.Replace(cluster.TestImage, ":1", ":2", 1)
	archive = bytes.ReplaceAll(archive, []byte(cluster.TestImage), []byte(name))
	if err := c.LoadImages(limit(t, time.Minute), bytes.NewReader(archive)); err != nil {
		t.Fatal(err)
	}
	admin(t, c, http.MethodPost, pods, fmt.Sprintf(`{"metadata": {"name": "loaded"}, "spec": {"restartPolicy": "Never",
		"containers": [{"name": "main", "image": %q, "args": ["echo"]}]}}`, name), http.StatusCreated)
	awaitPhase(t, c, "loaded", "Succeeded")
	err = c.LoadImages(limit(t, time.Minute), strings.NewReader("not an archive"))
	if err == nil || !strings.Contains(err.Error(), "load images: ") {
		t.Errorf("LoadImages of an invalid archive: %v, want an error", err)
	}
}

func TestOpenChecksTheComponentsOfANode(t *testing.T) {
	if !needNode(t) {
		return
	}
	dir := filepath.Join(t.TempDir(), "state")
	startCluster(t, &cluster.Options{Node: true, Dir: dir, Detach: true})
	c, err := cluster.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Ready(limit(t, time.Minute)); err != nil {
		t.Fatal(err)
	}
	containerd, kubelet := c.Component(cluster.Containerd), c.Component(cluster.Kubelet)
	if err := containerd.Pause(); err != nil {
		t.Fatal(err)
	}
	if err := containerd.Ready(limit(t, 5*time.Second)); err == nil {
		t.Error("containerd is ready while it is paused")
	}
	if err := containerd.Resume(); err != nil {
		t.Fatal(err)
	}
	if err := containerd.Restart(limit(t, time.Minute)); err != nil {
		t.Fatal(err)
	}
	loadImage(t, c)
	if err := kubelet.Kill(); err != nil { // the Node stays Ready for a while
		t.Fatal(err)
	}
	if err := kubelet.Ready(limit(t, time.Minute)); err == nil {
		t.Error("the kubelet is ready after Kill")
	}
}

func TestImagesNeedANode(t *testing.T) {
	t.Parallel()
	err := sharedCluster(t).LoadImages(t.Context(), strings.NewReader(""))
	if err == nil || !strings.Contains(err.Error(), "has no node; start it with Options.Node") {
		t.Errorf("LoadImages without a node: %v, want the remedy", err)
	}
}

func TestNodeEndsWhenItsOwnerIsKilled(t *testing.T) {
	if !needNode(t) {
		return
	}
	sharedCluster(t) // so that everything is built
	owner := exec.Command(os.Args[0])
	owner.Env = append(os.Environ(), ownerEnv+"=node")
	killOwner(t, owner)
}
