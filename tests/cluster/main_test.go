// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kube-go/sdk/tests/cluster"
)

// ownerEnv makes the test program the owner of a cluster that is then killed.
const ownerEnv = "KUBECLUSTER_TEST_OWNER"

func TestMain(m *testing.M) {
	if os.Getenv(ownerEnv) != "" {
		own()
	}
	code := m.Run()
	if started {
		if c, err := shared(); err == nil {
			if err := c.Stop(); err != nil {
				fmt.Fprintln(os.Stderr, err)
				code = 1
			}
		}
	}
	os.Exit(code)
}

// own starts a cluster, prints its directory, and runs until it is killed.
func own() {
	c, err := cluster.Start(context.Background(), &cluster.Options{Node: os.Getenv(ownerEnv) == "node"})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(c.Dir())
	select {}
}

// The tests share this cluster. Each test leaves it ready.
var (
	started bool // whether shared was called; written by the first test that needs it
	shared  = sync.OnceValues(func() (*cluster.Cluster, error) {
		started = true
		return cluster.Start(context.Background(), &cluster.Options{Log: os.Stderr})
	})
)

func sharedCluster(t *testing.T) *cluster.Cluster {
	t.Helper()
	c, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// startCluster starts a cluster for this test only.
func startCluster(t *testing.T, options *cluster.Options) *cluster.Cluster {
	t.Helper()
	options.Log = t.Output()
	c, err := cluster.Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// limit limits the duration of a step of a test.
func limit(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), d, fmt.Errorf("it took more than %v", d))
	t.Cleanup(cancel)
	return ctx
}

// caller returns a function that calls the API server with a bearer token, or without one.
func caller(t *testing.T, c *cluster.Cluster, token string) func(method, path, body string) (int, string) {
	t.Helper()
	ca, err := os.ReadFile(c.CAFile())
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	t.Cleanup(transport.CloseIdleConnections)
	client := &http.Client{Transport: transport}
	return func(method, path, body string) (int, string) {
		t.Helper()
		return call(t, client, token, method, c.URL()+path, body)
	}
}

func call(t *testing.T, client *http.Client, token, method, url, body string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(limit(t, time.Minute), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(answer)
}

// admin calls the API server as the administrator, and checks the status code.
func admin(t *testing.T, c *cluster.Cluster, method, path, body string, want int) string {
	t.Helper()
	code, answer := call(t, c.HTTPClient(), "", method, c.URL()+path, body)
	if code != want {
		t.Fatalf("%s %s = %d %s, want %d", method, path, code, answer, want)
	}
	return answer
}

// eventually waits until the condition is true.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !condition(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not true within a minute: %s", what)
		}
	}
}

// processes returns the number of processes with the text in their environment.
func processes(t *testing.T, text string) int {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, entry := range entries {
		environ, err := os.ReadFile("/proc/" + entry.Name() + "/environ")
		if err == nil && bytes.Contains(environ, []byte(text)) {
			count++
		}
	}
	return count
}

func decode[T any](t *testing.T, text string) T {
	t.Helper()
	var value T
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("decode %q: %v", text, err)
	}
	return value
}
