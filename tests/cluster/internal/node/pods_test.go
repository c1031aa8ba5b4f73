// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-go/sdk/tests/cluster"
	"github.com/kube-go/sdk/tests/cluster/internal/testimage"
)

// pod is the part of a Pod's status that the tests use.
type pod struct {
	Status struct {
		Phase, PodIP, HostIP string
		ContainerStatuses    []struct {
			Ready bool
			State struct {
				Terminated *struct{ ExitCode int }
			}
		}
	}
}

func (p pod) ready() bool {
	return len(p.Status.ContainerStatuses) == 1 && p.Status.ContainerStatuses[0].Ready
}

func (p pod) ended() bool { return p.Status.Phase == "Succeeded" || p.Status.Phase == "Failed" }

func (p pod) exitCode() int {
	if !p.ended() || len(p.Status.ContainerStatuses) != 1 || p.Status.ContainerStatuses[0].State.Terminated == nil {
		return -1
	}
	return p.Status.ContainerStatuses[0].State.Terminated.ExitCode
}

// api calls the API server of a cluster as its administrator.
type api struct{ *cluster.Cluster }

// do sends the body, if any, to a path below that of the default namespace.
func (a api) do(t *testing.T, method, path string, body any) []byte {
	t.Helper()
	content, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, a.URL()+"/api/v1/namespaces/default/"+path, bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := a.HTTPClient().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode/100 != 2 {
		t.Fatalf("%s %s: %s: %s", method, path, resp.Status, answer)
	}
	return answer
}

// run creates a pod of the test image with these arguments, and waits until the condition is true.
func (a api) run(t *testing.T, name string, until func(pod) bool, args ...string) pod {
	t.Helper()
	a.do(t, http.MethodPost, "pods", map[string]any{
		"metadata": map[string]any{"name": name},
		"spec": map[string]any{
			"restartPolicy": "Never",
			"containers":    []any{map[string]any{"name": "main", "image": testimage.Name, "args": args}},
		},
	})
	var now pod
	eventually(t, "pod "+name+" is in the expected state", func() bool {
		answer := a.do(t, http.MethodGet, "pods/"+name, nil)
		if err := json.Unmarshal(answer, &now); err != nil {
			t.Fatal(err)
		}
		return until(now)
	})
	return now
}

// eventually waits until the condition is true.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	timeout := time.After(time.Minute)
	for !holds() {
		select {
		case <-tick.C:
		case <-timeout:
			t.Fatalf("not true within a minute: %s", what)
		}
	}
}

func (a api) log(t *testing.T, name string) string {
	t.Helper()
	return string(a.do(t, http.MethodGet, "pods/"+name+"/log", nil))
}

func TestPodsRunOnANodeAndAreRemovedCompletely(t *testing.T) {
	requireNode(t)
	before := machine(t)
	started, err := cluster.Start(t.Context(), &cluster.Options{Node: true, Log: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	c := api{started}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})

	t.Run("exit status and log are the container's", func(t *testing.T) {
		if got := c.run(t, "exit", pod.ended, "exit", "7").exitCode(); got != 7 {
			t.Errorf("exit status = %d, want 7", got)
		}
		if got := c.run(t, "lines", pod.ended, "lines", "3").exitCode(); got != 0 {
			t.Errorf("exit status = %d, want 0", got)
		}
		if got, want := c.log(t, "lines"), "line 1\nline 2\nline 3\n"; got != want {
			t.Errorf("log = %q, want %q", got, want)
		}
	})
	t.Run("volumes are mounted", func(t *testing.T) {
		c.run(t, "volume", pod.ended, "cat", "/var/run/secrets/kubernetes.io/serviceaccount/namespace")
		if got := c.log(t, "volume"); got != "default" {
			t.Errorf("the file with the namespace has %q, want default", got)
		}
	})
	t.Run("the network reaches pods", func(t *testing.T) {
		web := c.run(t, "web", pod.ready, "serve", "8080").Status
		if address, err := netip.ParseAddr(web.PodIP); err != nil || !netip.MustParsePrefix("10.213.0.0/16").Contains(address) {
			t.Errorf("the pod's address is %q, which is not in the subnet of a node's bridge", web.PodIP)
		}
		if web.HostIP != "127.0.0.1" {
			t.Errorf("the node's address is %q, want 127.0.0.1", web.HostIP)
		}
		url := "http://" + web.PodIP + ":8080/"
		eventually(t, "the pod responds to the machine", func() bool { // it is ready a moment before it listens
			_, err := get(t, url)
			return err == nil
		})
		if got, err := get(t, url); err != nil || got != "web\n" {
			t.Errorf("the pod responds to the machine with %q and %v, want its name", got, err)
		}
		c.run(t, "other", pod.ended, "get", url)
		if got := c.log(t, "other"); got != "web\n" {
			t.Errorf("the pod responds to another pod with %q, want its name", got)
		}
	})
	t.Run("a deleted pod ends", func(t *testing.T) {
		c.run(t, "pause", pod.ready, "pause")
		began := time.Now()
		c.do(t, http.MethodDelete, "pods/pause", nil)
		eventually(t, "the pod is deleted", func() bool {
			return !bytes.Contains(c.do(t, http.MethodGet, "pods", nil), []byte(`"name":"pause"`))
		})
		if took := time.Since(began); took > 20*time.Second { // one that ignores SIGTERM gets 30
			t.Errorf("it took %v", took)
		}
	})

	if diff := cmp.Diff(before.files, machine(t).files); diff != "" {
		t.Errorf("the machine's files, while a node runs (-before +now):\n%s", diff)
	}
	dir := filepath.Join(c.Dir(), "node")
	known := settings(t, dir) // the file is removed with the cluster
	if err := c.Stop(); err != nil {
		t.Fatal(err)
	}
	noTrace(t, dir, known)
	if diff := cmp.Diff(before, machine(t), cmp.AllowUnexported(state{})); diff != "" {
		t.Errorf("the machine, after a node ran (-before +after):\n%s", diff)
	}
}

func get(t *testing.T, url string) (string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // without a proxy
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

// state is the part of the machine that a node must not change.
type state struct {
	files  map[string]string // folders and kernel parameters; with "absent" or the content
	mounts string
}

func machine(t *testing.T) state {
	t.Helper()
	now := state{files: map[string]string{}}
	for _, folder := range []string{
		"/run/containerd", "/run/runc", "/run/nri", "/run/cni", "/var/lib/containerd", "/var/lib/cni", "/var/lib/kubelet",
		"/var/log/pods", "/var/log/containers", "/etc/cni", "/opt/cni", "/opt/containerd", "/opt/nri",
	} {
		_, err := os.Stat(folder)
		now.files[folder] = fmt.Sprint("absent: ", errors.Is(err, fs.ErrNotExist))
	}
	for _, parameter := range []string{
		"net/ipv4/ip_forward", "vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops",
		"kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes",
	} {
		text, err := os.ReadFile("/proc/sys/" + parameter)
		if err != nil {
			t.Fatal(err)
		}
		now.files[parameter] = strings.TrimSpace(string(text))
	}
	text, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	now.mounts = string(text)
	return now
}
