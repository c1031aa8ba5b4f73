// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"errors"
	"io"
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
)

// throughError returns the error of a request that should have one.
func throughError(resp *http.Response, err error) error {
	if resp != nil {
		resp.Body.Close()
	}
	return err
}

func TestProxyHandsOnTheAnswer(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == podPath+":8080/proxy/gone" {
			http.Error(w, "nothing here", http.StatusNotFound)
			return
		}
		w.Header().Set("X-From", "the pod")
		_, _ = io.WriteString(w, "hello")
	})
	pods := client.Namespaced[corev1.Pod](s.client(t), "prod")
	resp, err := pods.Proxy(t.Context(), "web-0", &request.ProxyOptions{
		Method: http.MethodPost, Port: "8080", Path: "greet", ContentType: "text/plain", Body: []byte("hi"),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || string(body) != "hello" || resp.Header.Get("X-From") != "the pod" {
		t.Errorf("the answer is %q, %v with %v", body, err, resp.Header)
	}
	if a := s.asked()[0]; a.Method != http.MethodPost || a.URI != podPath+":8080/proxy/greet" || a.Body != "hi" {
		t.Errorf("the request was %s %s with %q", a.Method, a.URI, a.Body)
	}

	err = throughError(pods.Proxy(t.Context(), "web-0", &request.ProxyOptions{Port: "8080", Path: "gone"}))
	if !errors.Is(err, core.ErrNotFound) || text(err) != "proxy pods prod/web-0: not found: server said: nothing here" {
		t.Errorf("the pod's refusal: %v", err)
	}
	if se, ok := errors.AsType[*core.StatusError](err); !ok || string(se.Body) != "nothing here\n" {
		t.Errorf("the pod's refusal: %#v, want what it wrote", err)
	}
}

func TestProxySendsOnce(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "error trying to reach service: connection refused", http.StatusServiceUnavailable)
	})
	pods := client.Namespaced[corev1.Pod](newClient(t, &client.Options{Config: s.config()}), "prod")
	if err := throughError(pods.Proxy(t.Context(), "web-0", nil)); !errors.Is(err, core.ErrUnavailable) || len(s.asked()) != 1 {
		t.Errorf("a pod that does not answer: %v after %d requests, want one", err, len(s.asked()))
	}
}

func TestBindNamesTheNode(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", jsonType)
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Success","code":201}`)
	})
	if err := client.Namespaced[corev1.Pod](s.client(t), "prod").Bind(t.Context(), "web-0", "n1", nil); err != nil {
		t.Fatal(err)
	}
	want := `{"kind":"Binding","apiVersion":"v1","metadata":{"name":"web-0","namespace":"prod"},"target":{"apiVersion":"v1","kind":"Node","name":"n1"}}`
	if a := s.asked()[0]; a.URI != podPath+"/binding" || a.Body != want {
		t.Errorf("the request was %s with %s", a.URI, a.Body)
	}
}
