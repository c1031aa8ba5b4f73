// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kube-go/sdk/tests/cluster"
)

func port(t *testing.T, c *cluster.Cluster) int {
	t.Helper()
	parsed, err := url.Parse(c.URL())
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.Atoi(parsed.Port())
	if err != nil {
		t.Fatal(err)
	}
	return number
}

func TestEachComponentCanBeKilledStoppedAndRestarted(t *testing.T) {
	c := sharedCluster(t)
	admin(t, c, http.MethodPost, "/api/v1/namespaces", `{"metadata": {"name": "kept"}}`, http.StatusCreated)
	address := c.URL()
	for _, component := range c.Components() {
		t.Run(component.Name(), func(t *testing.T) {
			pid, done := component.PID(), component.Done()
			if err := component.Start(t.Context()); err == nil {
				t.Error("Start of a running component is not an error")
			}
			if err := component.Kill(); err != nil {
				t.Fatal(err)
			}
			<-done
			if component.Running() {
				t.Error("it is running after Kill")
			}
			if err := component.Start(limit(t, time.Minute)); err != nil {
				t.Fatal(err)
			}
			if component.PID() == pid {
				t.Errorf("it is still process %d", pid)
			}
			began := time.Now()
			if err := component.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
			t.Logf("stopped in %v", time.Since(began).Round(time.Millisecond))
			began = time.Now()
			if err := component.Restart(limit(t, time.Minute)); err != nil {
				t.Fatal(err)
			}
			t.Logf("restarted in %v", time.Since(began).Round(time.Millisecond))
			if err := c.Ready(limit(t, time.Minute)); err != nil {
				t.Fatal(err)
			}
		})
	}
	if c.URL() != address {
		t.Errorf("the API server moved from %s to %s", address, c.URL())
	}
	admin(t, c, http.MethodGet, "/api/v1/namespaces/kept", "", http.StatusOK)
}

func TestPausedAPIServerRespondsAfterResume(t *testing.T) {
	c := sharedCluster(t)
	apiserver := c.Component(cluster.APIServer)
	pid := apiserver.PID()
	if err := apiserver.Pause(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.URL()+"/readyz", nil)
	if err != nil {
		t.Fatal(err)
	}
	if response, err := c.HTTPClient().Do(request); !errors.Is(err, context.DeadlineExceeded) {
		if err == nil {
			response.Body.Close()
		}
		t.Errorf("a paused API server: %v, want %v", err, context.DeadlineExceeded)
	}
	if !apiserver.Running() {
		t.Error("Running() = false for a paused component")
	}
	if err := apiserver.Resume(); err != nil {
		t.Fatal(err)
	}
	if err := c.Ready(limit(t, time.Minute)); err != nil {
		t.Fatal(err)
	}
	if apiserver.PID() != pid {
		t.Errorf("process %d became %d", pid, apiserver.PID())
	}
}

type meta struct {
	Metadata struct{ ResourceVersion, Continue string }
}

func TestCompactionMakesResourceVersionsExpire(t *testing.T) {
	c := sharedCluster(t)
	const path = "/api/v1/namespaces/default/configmaps"
	var versions []string
	for range 3 {
		made := admin(t, c, http.MethodPost, path, `{"metadata": {"generateName": "old-"}}`, http.StatusCreated)
		versions = append(versions, decode[meta](t, made).Metadata.ResourceVersion)
	}
	page := decode[meta](t, admin(t, c, http.MethodGet, path+"?limit=1", "", http.StatusOK))
	watch := func() (int, string) {
		return call(t, c.HTTPClient(), "", http.MethodGet,
			c.URL()+path+"?watch=1&timeoutSeconds=1&resourceVersion="+versions[0], "")
	}
	if code, answer := watch(); code != http.StatusOK || !strings.Contains(answer, `"type":"ADDED"`) {
		t.Fatalf("a watch before the compaction = %d %s", code, answer)
	}
	revision, err := c.CompactEtcd(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if number(t, revision) <= number(t, versions[2]) {
		t.Errorf("CompactEtcd = %s, want more than %s", revision, versions[2])
	}
	if err := c.Component(cluster.APIServer).Restart(limit(t, time.Minute)); err != nil {
		t.Fatal(err)
	}
	if code, answer := watch(); !strings.Contains(answer, `"code":410`) {
		t.Errorf("a watch after compaction and restart = %d %s, want a 410", code, answer)
	}
	admin(t, c, http.MethodGet, path+"?resourceVersionMatch=Exact&resourceVersion="+versions[0], "", http.StatusGone)
	admin(t, c, http.MethodGet, path+"?limit=1&continue="+page.Metadata.Continue, "", http.StatusGone)
	if err := c.Ready(limit(t, time.Minute)); err != nil {
		t.Fatal(err)
	}
}

func number(t *testing.T, version string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(version, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestErrorOfAFailedComponentHasItsReason(t *testing.T) {
	c := sharedCluster(t)
	scheduler := c.Component(cluster.Scheduler)
	logs, err := scheduler.Logs()
	if err != nil || !strings.Contains(logs, "Starting Kubernetes Scheduler") {
		t.Errorf("Logs = %q, %v", logs, err)
	}
	etcd := c.Component(cluster.Etcd)
	if err := errors.Join(etcd.Kill(), scheduler.Kill()); err != nil {
		t.Fatal(err)
	}
	if err := scheduler.Start(limit(t, 3*time.Second)); err == nil || !strings.Contains(err.Error(), "kube-scheduler") {
		t.Errorf("Start of a scheduler without etcd = %v", err)
	}
	if err := etcd.Start(limit(t, time.Minute)); err != nil {
		t.Fatal(err)
	}
	if err := scheduler.Restart(limit(t, time.Minute)); err != nil {
		t.Fatal(err)
	}
	if err := c.Ready(limit(t, time.Minute)); err != nil {
		t.Fatal(err)
	}
}
