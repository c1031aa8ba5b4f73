// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kube-go/sdk/kube"
)

// testProxyVerb promises that nodes, services and pods can be sent requests, and that what they answer is kept.
func testProxyVerb(t *testing.T, c *kube.Client) {
	ns, node := newNamespace(t, c), nodeOf(t, c)
	awaitPods(t, c, ns)
	pods, services := kube.Namespaced[corev1.Pod](c, ns), kube.Namespaced[corev1.Service](c, ns)
	spec := podSpec(node)
	spec.Containers[0].Args = []string{"serve", "8080"}
	startPod(t, pods, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-0", Labels: map[string]string{"app": "web"}}, Spec: spec})
	_, err := services.Create(limit(t), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: corev1.ServiceSpec{
		Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}},
	}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the service knows its pod", func(ctx context.Context) error {
		return fetch(ctx, func(ctx context.Context) (*http.Response, error) { return services.Proxy(ctx, "web", nil) }, "web-0\n")
	})
	checkNodeProxy(t, kube.ClusterWide[corev1.Node](c), node)
	err = refusal(pods.Proxy(limit(t), "web-0", &kube.ProxyOptions{Port: "8080", Path: "no such path"}))
	if se, ok := errors.AsType[*kube.StatusError](err); !ok || string(se.Body) != "404 page not found\n" || !errors.Is(err, kube.ErrNotFound) {
		t.Errorf("a path that the pod does not have: %v, want its answer", err)
	}
	soon, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := refusal(pods.Proxy(soon, "web-0", &kube.ProxyOptions{Port: "8081"})); !errors.Is(err, kube.ErrUnavailable) {
		t.Errorf("a port where nobody listens: %v, want ErrUnavailable before long", err)
	}
}

// refusal returns the error of a call that is to have one.
func refusal(resp *http.Response, err error) error {
	if err == nil {
		resp.Body.Close()
	}
	return err
}

// checkNodeProxy asks the kubelet of a node. A server sends nothing to loopback, where the node of the test cluster is.
func checkNodeProxy(t *testing.T, nodes *kube.API[corev1.Node], node string) {
	t.Helper()
	n, err := nodes.Get(limit(t), node, nil)
	if err != nil {
		t.Fatal(err)
	}
	local := slices.ContainsFunc(n.Status.Addresses, func(a corev1.NodeAddress) bool {
		ip := net.ParseIP(a.Address)
		return a.Type == corev1.NodeInternalIP && ip != nil && ip.IsLoopback()
	})
	err = fetch(limit(t), func(ctx context.Context) (*http.Response, error) {
		return nodes.Proxy(ctx, node, &kube.ProxyOptions{Path: "healthz"})
	}, "ok")
	switch {
	case local && (!errors.Is(err, kube.ErrBadRequest) || !strings.Contains(err.Error(), "address not allowed")):
		t.Errorf("a node at a loopback address: %v, want it refused by the server", err)
	case !local && err != nil:
		t.Error(err)
	}
}

// fetch sends a request and looks for a text in the answer.
func fetch(ctx context.Context, send func(context.Context) (*http.Response, error), want string) error {
	resp, err := send(ctx)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && !strings.Contains(string(body), want) {
		err = fmt.Errorf("the answer is %.200q, want %q in it", body, want)
	}
	return err
}
