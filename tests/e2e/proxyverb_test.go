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
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	nodeverbs "github.com/kube-go/sdk/client/node"
	"github.com/kube-go/sdk/client/service"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/kube"
)

// testProxyVerb checks that requests can be sent to nodes, services and pods, and that an error has the response of the
// backend.
func testProxyVerb(t *testing.T, c *kube.Client) {
	ns, node := newNamespace(t, c), nodeOf(t, c)
	awaitPods(t, c, ns)
	pods, services := kube.Namespaced[corev1.Pod](c, ns), kube.Namespaced[corev1.Service](c, ns)
	spec := podSpec(node)
	serve(&spec.Containers[0])
	labels := map[string]string{"app": "web"}
	startPod(t, pods, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-0", Labels: labels}, Spec: spec})
	_, err := services.Create(limit(t), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: corev1.ServiceSpec{
			Selector: labels, Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}},
		},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the service has found its pod", func(ctx context.Context) error {
		return fetch(ctx, func(ctx context.Context) (*http.Response, error) {
			return service.In(c, ns).Proxy(ctx, "web", nil)
		}, "web-0\n")
	})
	checkNodeProxy(t, kube.ClusterWide[corev1.Node](c), node)
	err = refusal(podVerbs(pods).Proxy(limit(t), "web-0", &request.ProxyOptions{Port: "8080", Path: "no such path"}))
	status, ok := errors.AsType[*kube.StatusError](err)
	if !ok || string(status.Body) != "404 page not found\n" || !errors.Is(err, kube.ErrNotFound) {
		t.Errorf("a path that the pod does not have: %v, want ErrNotFound with the pod's response", err)
	}
	soon, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	err = refusal(podVerbs(pods).Proxy(soon, "web-0", &request.ProxyOptions{Port: "8081"}))
	if !errors.Is(err, core.ErrUnavailable) {
		t.Errorf("a port on which no process listens: %v, want ErrUnavailable within 10 s", err)
	}
}

// refusal returns the error of a call that must fail.
func refusal(resp *http.Response, err error) error {
	if err == nil {
		resp.Body.Close()
	}
	return err
}

// checkNodeProxy sends requests to the kubelet of a node. An API server does not connect to a loopback address, which
// the node of the test cluster has. In that case checkNodeProxy checks that the server rejects the request, and then
// uses a new node whose address is another one of this machine and leads to the same kubelet.
func checkNodeProxy(t *testing.T, nodes *kube.API[corev1.Node], node string) {
	t.Helper()
	n, err := nodes.Get(limit(t), node, nil)
	if err != nil {
		t.Fatal(err)
	}
	health := func(name string) error {
		return fetch(limit(t), func(ctx context.Context) (*http.Response, error) {
			return nodeverbs.New(nodes.Client()).Proxy(ctx, name, &request.ProxyOptions{Path: "healthz"})
		}, "ok")
	}
	i := slices.IndexFunc(n.Status.Addresses, func(a corev1.NodeAddress) bool { return a.Type == corev1.NodeInternalIP })
	if ip := net.ParseIP(n.Status.Addresses[max(0, i)].Address); ip == nil || !ip.IsLoopback() {
		if err := health(node); err != nil {
			t.Error(err)
		}
		return
	}
	if err := health(node); !errors.Is(err, core.ErrBadRequest) || !strings.Contains(err.Error(), "address not allowed") {
		t.Errorf("a node with a loopback address: %v, want ErrBadRequest from the server", err)
	}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", net.JoinHostPort(ownAddress(t), "0"))
	if err != nil {
		t.Fatal(err)
	}
	forward(t, listener, fmt.Sprintf("127.0.0.1:%d", n.Status.DaemonEndpoints.KubeletEndpoint.Port))
	elsewhere, err := nodes.Create(limit(t), &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "elsewhere-"},
		Spec: corev1.NodeSpec{Taints: []corev1.Taint{ // the node gets no pods, not even those of daemon sets
			{Key: "example.com/no-pods", Effect: corev1.TaintEffectNoSchedule},
		}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := nodes.Delete(context.WithoutCancel(t.Context()), elsewhere.Name, nil); err != nil {
			t.Error(err)
		}
	})
	at := listener.Addr().(*net.TCPAddr)
	status := kube.MergePatch(map[string]any{"status": corev1.NodeStatus{
		Addresses:       []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: at.IP.String()}},
		DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: int32(at.Port)}},
	}})
	if _, err := nodes.Status().Patch(limit(t), elsewhere.Name, status, nil); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the server reaches the kubelet", func(context.Context) error { return health(elsewhere.Name) })
}

// ownAddress returns an IPv4 address of this machine that is not a loopback address.
func ownAddress(t *testing.T) string {
	t.Helper()
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addresses {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.To4() != nil && ip.IP.IsGlobalUnicast() {
			return ip.IP.String()
		}
	}
	t.Fatalf("no address of this machine is a global unicast IPv4 address: %v", addresses)
	return ""
}

// fetch sends a request, and returns an error unless the response body contains a string.
func fetch(ctx context.Context, send func(context.Context) (*http.Response, error), want string) error {
	resp, err := send(ctx)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && !strings.Contains(string(body), want) {
		err = fmt.Errorf("the response is %.200q, want it to contain %q", body, want)
	}
	return err
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
