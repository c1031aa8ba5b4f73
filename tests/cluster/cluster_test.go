// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kube-go/sdk/tests/cluster"
)

func TestControlPlaneIsReadyAfterStart(t *testing.T) {
	c := sharedCluster(t)
	admin(t, c, http.MethodGet, "/readyz", "", http.StatusOK)
	admin(t, c, http.MethodGet, "/api/v1/namespaces/default/serviceaccounts/default", "", http.StatusOK)
	version := decode[struct{ GitVersion string }](t, admin(t, c, http.MethodGet, "/version", "", http.StatusOK))
	if version.GitVersion != cluster.DefaultKubernetesVersion {
		t.Errorf("gitVersion = %q, want %q", version.GitVersion, cluster.DefaultKubernetesVersion)
	}
	// The controllers work: a deployment gets its pods. The scheduler works: it reports why it cannot place them.
	admin(t, c, http.MethodPost, "/apis/apps/v1/namespaces/default/deployments", `{"metadata": {"name": "web"}, "spec": {
		"selector": {"matchLabels": {"app": "web"}}, "template": {"metadata": {"labels": {"app": "web"}},
		"spec": {"containers": [{"name": "web", "image": "web"}]}}}}`, http.StatusCreated)
	eventually(t, "the pod is found unschedulable", func() bool {
		pods := admin(t, c, http.MethodGet, "/api/v1/namespaces/default/pods?labelSelector=app%3Dweb", "", http.StatusOK)
		return strings.Contains(pods, `"reason":"Unschedulable"`)
	})
	admin(t, c, http.MethodDelete, "/apis/apps/v1/namespaces/default/deployments/web", "", http.StatusOK)
}

func TestTLSIsVerified(t *testing.T) {
	c := sharedCluster(t)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: x509.NewCertPool()}}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.URL()+"/readyz", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := transport.RoundTrip(request)
	if err == nil {
		response.Body.Close()
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); !ok {
		t.Errorf("a client that does not trust the authority gets %v", err)
	}
}

func TestUsersHaveThePermissionsOfTheirRoles(t *testing.T) {
	c := sharedCluster(t)
	serviceAccount, err := c.ServiceAccountToken(t.Context(), "default", "default")
	if err != nil {
		t.Fatal(err)
	}
	const namespaces, configMap = "/api/v1/namespaces", `{"metadata": {"generateName": "test-"}}`
	const configMaps = namespaces + "/default/configmaps"
	for _, tt := range []struct {
		name, token, method, path, body string
		want                            int
	}{
		{"an anonymous user may not read objects", "", http.MethodGet, configMaps, "", http.StatusForbidden},
		{"an anonymous user may read the health", "", http.MethodGet, "/readyz", "", http.StatusOK},
		{"an invalid token is rejected", "wrong", http.MethodGet, configMaps, "", http.StatusUnauthorized},
		{"the token user may read", c.Token(), http.MethodGet, configMaps, "", http.StatusOK},
		{"the token user may not create", c.Token(), http.MethodPost, configMaps, configMap, http.StatusForbidden},
		{"the token user may not read secrets", c.Token(), http.MethodGet, namespaces + "/default/secrets", "", http.StatusForbidden},
		{"a service account is authenticated without permissions", serviceAccount, http.MethodGet, configMaps, "", http.StatusForbidden},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if code, answer := caller(t, c, tt.token)(tt.method, tt.path, tt.body); code != tt.want {
				t.Errorf("%s %s = %d %s, want %d", tt.method, tt.path, code, answer, tt.want)
			}
		})
	}
	t.Run("each has the right identity", func(t *testing.T) {
		const review = `{"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}`
		for token, want := range map[string]string{
			c.Token(): "token-user", serviceAccount: "system:serviceaccount:default:default",
		} {
			_, answer := caller(t, c, token)(http.MethodPost, "/apis/authentication.k8s.io/v1/selfsubjectreviews", review)
			if !strings.Contains(answer, `"username":"`+want+`"`) {
				t.Errorf("who am I = %s, want %s", answer, want)
			}
		}
	})
	t.Run("the administrator may create", func(t *testing.T) {
		admin(t, c, http.MethodPost, configMaps, configMap, http.StatusCreated)
	})
}

func TestClustersRunSideBySide(t *testing.T) {
	c := sharedCluster(t)
	var wait sync.WaitGroup
	others := make([]*cluster.Cluster, 2)
	for i := range others {
		wait.Go(func() {
			other, err := cluster.Start(t.Context(), nil)
			if err != nil {
				t.Errorf("Start = %v", err)
				return
			}
			others[i] = other
		})
	}
	wait.Wait()
	fastest := time.Hour // the machine may be busy
	for _, other := range others {
		if other == nil {
			continue
		}
		admin(t, other, http.MethodGet, "/readyz", "", http.StatusOK)
		admin(t, c, http.MethodGet, "/readyz", "", http.StatusOK)
		if other.URL() == c.URL() {
			t.Errorf("two clusters have the URL %s", c.URL())
		}
		if code, _ := caller(t, other, c.Token())(http.MethodGet, "/api", ""); code != http.StatusUnauthorized {
			t.Errorf("a token of one cluster in another = %d, want %d", code, http.StatusUnauthorized)
		}
		began := time.Now()
		if err := other.Stop(); err != nil {
			t.Error(err)
		}
		fastest = min(fastest, time.Since(began))
		gone(t, other.Dir())
	}
	if fastest > 3*time.Second {
		t.Errorf("Stop took %v at best", fastest)
	}
}

// gone checks that nothing remains of a cluster.
func gone(t *testing.T, dir string) {
	t.Helper()
	eventually(t, "the directory is removed", func() bool {
		_, err := os.Stat(dir)
		return errors.Is(err, os.ErrNotExist)
	})
	if left := processes(t, dir); left > 0 {
		t.Errorf("%d processes are left", left)
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err == nil && strings.Contains(string(mounts), dir) {
		t.Errorf("mounts are left: %s", mounts)
	}
	aliases, err := filepath.Glob("/sys/class/net/*/ifalias")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range aliases {
		if alias, err := os.ReadFile(file); err == nil && strings.HasPrefix(string(alias), dir) {
			t.Errorf("an interface is left: %s", filepath.Dir(file))
		}
	}
}

func TestClusterEndsWhenItsOwnerIsKilled(t *testing.T) {
	t.Parallel()
	c := sharedCluster(t) // so that everything is built
	owner := exec.Command(os.Args[0])
	owner.Env = append(os.Environ(), ownerEnv+"=plain")
	killOwner(t, owner)
	admin(t, c, http.MethodGet, "/readyz", "", http.StatusOK) // other clusters are not affected
}

// killOwner makes the owner start a cluster, kills it, and checks that nothing remains.
func killOwner(t *testing.T, owner *exec.Cmd) {
	t.Helper()
	out, err := owner.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	dir, err := bufio.NewReader(out).ReadString('\n')
	dir = strings.TrimSpace(dir)
	if err != nil || !filepath.IsAbs(dir) {
		t.Fatalf("the owner printed %q, %v", dir, err)
	}
	if running := processes(t, dir); running < 4 {
		t.Fatalf("only %d processes are running", running)
	}
	if err := owner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = owner.Wait() // it was killed
	gone(t, dir)
}

func TestFailedStartNamesItsReasonAndRemovesItsFiles(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	_, err := cluster.Start(t.Context(), &cluster.Options{APIServerArgs: []string{"--no-such-flag"}})
	if err == nil || !strings.Contains(err.Error(), "kube-apiserver ended with exit status 1") ||
		!strings.Contains(err.Error(), "unknown flag: --no-such-flag") {
		t.Errorf("Start = %v; want the component and its output", err)
	}
	left, err := filepath.Glob(filepath.Join(os.Getenv("TMPDIR"), "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("remaining files: %v, %v", left, err)
	}
}

func TestStartTriesOtherPortsWhenOneIsInUse(t *testing.T) {
	t.Parallel()
	sharedCluster(t) // so that everything is built
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, taken, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	_, err = cluster.Start(t.Context(), &cluster.Options{Log: &log, APIServerArgs: []string{"--secure-port=" + taken}})
	if err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("Start = %v", err)
	}
	if tried := strings.Count(log.String(), "trying others"); tried != 2 {
		t.Errorf("others were tried %d times, want 2:\n%s", tried, log.String())
	}
}

func TestStartReportsItsTimeout(t *testing.T) {
	sharedCluster(t) // so that everything is built
	_, err := cluster.Start(t.Context(), &cluster.Options{ReadyTimeout: 100 * time.Millisecond})
	if err == nil || !strings.Contains(err.Error(), "the cluster was not ready in 100ms") {
		t.Errorf("Start = %v", err)
	}
}

func TestStartEndsWithItsContext(t *testing.T) {
	sharedCluster(t) // so that everything is built
	cause := errors.New("enough")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 300*time.Millisecond, cause)
	defer cancel()
	if _, err := cluster.Start(ctx, nil); !errors.Is(err, cause) {
		t.Errorf("Start = %v, want %v", err, cause)
	}
}

func TestInvalidOptionsAreErrors(t *testing.T) {
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "mine"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name    string
		options cluster.Options
		want    string
	}{
		{"a detached cluster without a directory", cluster.Options{Detach: true}, "needs Options.Dir"},
		{"a directory that is in use", cluster.Options{Dir: full}, "is not empty"},
		{"a port out of range", cluster.Options{APIPort: 70000}, "the port 70000 of the API server is invalid"},
		{"an invalid version", cluster.Options{KubernetesVersion: "latest"}, "want one like v1."},
		{"a port in use", cluster.Options{APIPort: port(t, sharedCluster(t))}, "is in use"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var log strings.Builder
			tt.options.Log = &log
			if _, err := cluster.Start(t.Context(), &tt.options); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Start = %v, want %q in it", err, tt.want)
			}
			if strings.Contains(log.String(), "trying others") {
				t.Errorf("it was tried again:\n%s", log.String())
			}
		})
	}
	if _, err := os.Stat(filepath.Join(full, "mine")); err != nil {
		t.Errorf("an existing file: %v", err)
	}
}

func TestOpenReturnsADetachedCluster(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	options := &cluster.Options{Dir: dir, Detach: true, FeatureGates: map[string]bool{"AllAlpha": false}}
	first := startCluster(t, options)
	pid := first.Component(cluster.Scheduler).PID()
	c, err := cluster.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Ready(limit(t, time.Minute)); err != nil {
		t.Fatal(err)
	}
	scheduler := c.Component(cluster.Scheduler)
	if scheduler.PID() != pid || c.URL() != first.URL() || c.KubernetesVersion() != cluster.DefaultKubernetesVersion {
		t.Errorf("Open = %s, %s, scheduler %d; want %s, %d",
			c.URL(), c.KubernetesVersion(), scheduler.PID(), first.URL(), pid)
	}
	if err := scheduler.Restart(limit(t, time.Minute)); err != nil {
		t.Fatal(err)
	}
	again, err := cluster.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := again.Component(cluster.Scheduler); !got.Running() || got.PID() != scheduler.PID() {
		t.Errorf("after a restart, Open finds scheduler %d, running: %t; want %d", got.PID(), got.Running(), scheduler.PID())
	}
	if err := again.Stop(); err != nil {
		t.Fatal(err)
	}
	if left := processes(t, dir); left > 0 {
		t.Errorf("%d processes are left", left)
	}
	if _, err := os.Stat(c.Component(cluster.Etcd).LogFile()); err != nil {
		t.Errorf("the requested directory: %v", err)
	}
}

func TestOpenOfADirectoryWithoutAClusterIsErrNotExist(t *testing.T) {
	if _, err := cluster.Open(t.TempDir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Open = %v, want %v", err, os.ErrNotExist)
	}
}
