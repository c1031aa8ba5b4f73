// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/kube"
)

// TestSilentAPIServiceDelaysDiscoveryForTwoSecondsAtMost checks the discovery of all other APIs while the server of one
// API accepts requests but does not respond, and the API server has not noticed that yet.
func TestSilentAPIServiceDelaysDiscoveryForTwoSecondsAtMost(t *testing.T) {
	c := connect(t, nil)
	server, err := url.Parse(c.Server())
	if err != nil {
		t.Fatal(err)
	}
	if ip := net.ParseIP(server.Hostname()); ip == nil || !ip.IsLoopback() {
		t.Skip("needs an API server that can reach a server in this process, which " + c.Server() + " may not")
	}
	ns := newNamespace(t, c)
	group := ns + ".example.com"
	extension := newExtension(t, group)
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "extension"},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "127.0.0.1"},
	}
	if _, err := kube.Namespaced[corev1.Service](c, ns).Create(limit(t), service, nil); err != nil {
		t.Fatal(err)
	}
	services := kube.Dynamic(c, kube.Resource{
		Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService", Plural: "apiservices",
	})
	registration := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
		"metadata": map[string]any{"name": "v1." + group},
		"spec": map[string]any{
			"group": group, "version": "v1", "groupPriorityMinimum": int64(10), "versionPriority": int64(10),
			"insecureSkipTLSVerify": true,
			"service":               map[string]any{"namespace": ns, "name": "extension", "port": extension.port},
		},
	}}
	if _, err := services.Create(limit(t), registration, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := services.Delete(context.WithoutCancel(t.Context()), registration.GetName(), nil); err != nil {
			t.Error(err)
		}
	})
	old := connect(t, &kube.ClientOptions{Middleware: []kube.Middleware{onlyPlainJSON}})

	discovered := func(ctx context.Context) error {
		disc, err := kube.Discover(ctx, old, nil)
		if err == nil {
			_, err = disc.Resolve("things." + group)
		}
		return err
	}
	for name, c := range map[string]*kube.Client{"legacy": old, "aggregated": c} {
		// The silent group takes two seconds. A busy machine may need more time in one attempt, but not in all. In a slow
		// attempt, the server may also notice that the group is silent and report another error.
		eventually(t, name+" discovery", func(ctx context.Context) error {
			extension.silent.Store(false)
			eventually(t, "the API is discovered", discovered)
			extension.silent.Store(true)
			began := time.Now()
			disc, err := kube.Discover(ctx, c, nil)
			if err != nil {
				return err
			}
			took := time.Since(began)
			if took > 4*time.Second {
				return fmt.Errorf("discovery took %v, want at most 4s", took)
			}
			if _, err := disc.Resolve("deployments.apps"); err != nil { // a busy machine may need two seconds for it, too
				return err
			}
			failed := ""
			for _, f := range disc.Failed() {
				if f.GroupVersion.Group == group {
					failed = f.Err.Error()
				}
			}
			if t.Logf("%s discovery in %v: %s", name, took, failed); name == "legacy" && failed != "no response within 2s" {
				return fmt.Errorf("error of the silent group = %q", failed)
			}
			return nil
		})
	}
}

// extension is an API server of one group. It does not respond while silent is set.
type extension struct {
	port   int64
	silent atomic.Bool
}

func newExtension(t *testing.T, group string) *extension {
	t.Helper()
	e := &extension{}
	ended := make(chan struct{})
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if e.silent.Load() {
			select {
			case <-r.Context().Done():
			case <-ended:
			}
			return
		}
		if r.URL.Path != "/apis/"+group+"/v1" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"%s/v1","resources":[
			{"name":"things","singularName":"thing","namespaced":true,"kind":"Thing","verbs":["get","list"]}]}`, group)
	}))
	t.Cleanup(func() {
		close(ended)
		s.Close()
	})
	e.port = int64(s.Listener.Addr().(*net.TCPAddr).Port)
	return e
}
