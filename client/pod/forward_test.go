// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package pod_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/internal/testserver"
	"github.com/kube-go/sdk/client/pod"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
)

// forwards returns a handler that acts as a kubelet that forwards a port. It passes the stream to play.
func forwards(t testing.TB, play func(s *socket, port string)) http.HandlerFunc {
	t.Helper()
	return upgrades(t, v4, func(s *socket) {
		port := s.request.URL.Query().Get("ports")
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil {
			t.Error(err)
		}
		start := string(binary.LittleEndian.AppendUint16(nil, uint16(n)))
		s.send(0, start)
		s.send(1, start)
		play(s, port)
	})
}

// echoes sends all received data back.
func echoes(s *socket, _ string) {
	for {
		channel, data, ok := s.receive()
		if !ok {
			return
		}
		s.send(channel, data)
	}
}

func forward(t testing.TB, s *testserver.Server) *pod.PortForwarder {
	t.Helper()
	f, err := podsOf(t, s).PortForward("web", nil)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestDialConnectsToPort(t *testing.T) {
	s := testserver.New(t, forwards(t, echoes))
	conn, err := forward(t, s).Dial(t.Context(), "8080")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := conn.RemoteAddr().String(), "prod/web:8080"; got != want {
		t.Errorf("RemoteAddr() = %s, want %s", got, want)
	}
	sent := bytes.Repeat([]byte("some text "), 100_000)
	go func() {
		if _, err := conn.Write(sent); err != nil {
			t.Errorf("Write() = %v", err)
		}
	}()
	got := make([]byte, len(sent))
	if _, err := io.ReadFull(conn, got); err != nil || !bytes.Equal(got, sent) {
		t.Errorf("ReadFull() = %v, want the sent data", err)
	}
	if err := conn.SetDeadline(time.Now().Add(10 * time.Millisecond)); err != nil {
		t.Error(err)
	}
	if _, err := conn.Read(got); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("Read() = %v, want %v", err, os.ErrDeadlineExceeded)
	}
	if err := conn.SetDeadline(time.Now().Add(-time.Second)); err != nil {
		t.Error(err)
	}
	calls := map[string]func([]byte) (int, error){"Read": conn.Read, "Write": conn.Write}
	for name, call := range calls {
		_, err := call(got)
		timeout, ok := err.(net.Error) //nolint:errorlint // as in crypto/tls
		if !ok || !timeout.Timeout() || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s() = %#v, want a net.Error that is a timeout", name, err)
		}
	}
	conn.Close()
	for name, call := range calls {
		if _, err := call(got); !errors.Is(err, net.ErrClosed) {
			t.Errorf("%s() after Close = %v, want net.ErrClosed", name, err)
		}
	}
	if got, want := s.Asked()[0].URI, "/api/v1/namespaces/prod/pods/web/portforward?ports=8080"; got != want {
		t.Errorf("request = %s, want %s", got, want)
	}
}

// TestReadReturnsReasonForEnd checks that Read returns the reason why a connection ended.
func TestReadReturnsReasonForEnd(t *testing.T) {
	for _, tc := range []struct {
		name string
		play func(s *socket, port string)
		want string
	}{
		{"the program closes it", func(s *socket, _ string) { s.send(0, "bye"); s.hangUp(1000, "") }, "EOF"},
		{
			"nothing listens", func(s *socket, _ string) { s.send(1, "connection\nrefused"); s.hangUp(1000, "") },
			"port-forward pods prod/web: internal error: server said: connection refused",
		},
		{
			"nothing listens, and the server keeps the stream open",
			func(s *socket, _ string) { s.send(1, "connection refused"); s.receive() },
			"server said: connection refused",
		},
		{
			"the server cuts the connection", func(s *socket, _ string) { _ = s.Close() },
			"port-forward pods prod/web: connection broke",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			conn, err := forward(t, testserver.New(t, forwards(t, tc.play))).Dial(t.Context(), "80")
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			for err == nil {
				_, err = conn.Read(make([]byte, 10))
			}
			if !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Read() = %v, want %s", err, tc.want)
			}
		})
	}
}

func TestDialReturnsReasonForFailure(t *testing.T) {
	for _, tc := range []struct {
		name    string
		handler http.HandlerFunc
		port    string
		want    string
	}{
		{"no pod", func(w http.ResponseWriter, _ *http.Request) {
			body := testserver.JSON(t, &metav1.Status{
				TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure", Code: 404,
				Reason: "NotFound", Details: &metav1.StatusDetails{Name: "web", Kind: "pods"},
			})
			testserver.Reply(w, 404, wire.MediaTypeJSON, body)
		}, "80", "port-forward pods prod/web: not found"},
		{"no port", nil, "", "port: is empty"},
		{"another port", upgrades(t, v4, func(s *socket) { s.send(0, "\x51\x00"); s.receive() }), "80", "the server forwards port 81, not 80"},
		{
			"half a port", upgrades(t, v4, func(s *socket) { s.send(0, "\x50"); s.hangUp(1000, "") }),
			"80", "closed the stream before it sent the port",
		},
		{
			"a server that cuts the connection", upgrades(t, v4, func(s *socket) { _ = s.Close() }),
			"80", "connection broke",
		},
		{
			"an unknown port name", func(w http.ResponseWriter, _ *http.Request) {
				pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{Name: "web"}}
				pod.Spec.Containers = []corev1.Container{{Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 80}}}}
				body, _ := json.Marshal(pod)
				testserver.Reply(w, 200, wire.MediaTypeJSON, body)
			}, "https", "pod web has no TCP port https; it has http",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := forward(t, testserver.New(t, tc.handler)).Dial(t.Context(), tc.port)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Dial() = %v, want %q", err, tc.want)
			}
			if _, ok := errors.AsType[*client.OpError](err); !ok {
				t.Errorf("Dial() = %v, want an OpError", err)
			}
		})
	}
	t.Run("the context ends", func(t *testing.T) {
		cause := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		s := testserver.New(t, upgrades(t, v4, func(s *socket) { cancel(cause); s.receive() }))
		if _, err := forward(t, s).Dial(ctx, "80"); !errors.Is(err, cause) {
			t.Errorf("Dial() = %v, want %v", err, cause)
		}
	})
}

func TestInvalidPortForwardSendsNothing(t *testing.T) {
	s := testserver.New(t, func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") })
	for _, tc := range []struct {
		name string
		pods *pod.API
		pod  string
		o    *pod.PortForwardOptions
	}{
		{"no name", podsOf(t, s), "", nil},
		{"no namespace", pod.In(s.Client(t), ""), "web", nil},
		{"a negative buffer", podsOf(t, s), "web", &pod.PortForwardOptions{BufferBytes: -1}},
	} {
		_, err := tc.pods.PortForward(tc.pod, tc.o)
		if _, ok := errors.AsType[*request.InvalidError](err); !ok {
			t.Errorf("%s: PortForward() = %v, want an InvalidError", tc.name, err)
		}
	}
	f := forward(t, s)
	if _, err := f.DialContext(t.Context(), "tcp", "web"); err == nil || !strings.Contains(err.Error(), "address") {
		t.Errorf("DialContext() without a port = %v, want an error of the address", err)
	}
	if _, err := f.Listen(t.Context(), "80", &pod.ListenOptions{Addresses: []string{"example.com"}}); err == nil || !strings.Contains(err.Error(), "Addresses") {
		t.Errorf("Listen() on a name = %v, want an error of Addresses", err)
	}
	if _, err := f.Listen(t.Context(), "", nil); err == nil || !strings.Contains(err.Error(), "port") {
		t.Errorf("Listen() for no port = %v, want an error of the port", err)
	}
}

// podServer is a server with pods whose ports echo all data, and with objects that select the pods.
type podServer struct {
	t       testing.TB
	mu      sync.Mutex // guards the fields below
	pods    []corev1.Pod
	objects map[string]any // by path
	dialled []string       // "pod:port"
}

func readyPod(name string, ready bool, age int) corev1.Pod {
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "prod", CreationTimestamp: metav1.Unix(int64(1000-age), 0)},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Ports: []corev1.ContainerPort{
			{Name: "http", ContainerPort: 8000 + int32(age)},
		}}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: "Ready", Status: status}}},
	}
}

func (p *podServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(r.URL.Path, "/")
	p.mu.Lock()
	defer p.mu.Unlock()
	if object := p.objects[r.URL.Path]; object != nil {
		testserver.Reply(w, 200, wire.MediaTypeJSON, testserver.JSON(p.t, object))
		return
	}
	switch last := parts[len(parts)-1]; {
	case last == "pods":
		if got := r.URL.Query().Get("labelSelector"); got != "app=web" {
			p.t.Errorf("labelSelector = %s, want app=web", got)
		}
		testserver.Reply(w, 200, wire.MediaTypeJSON, testserver.JSON(p.t, corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, Items: p.pods}))
	case last == "portforward" && slices.ContainsFunc(p.pods, func(pod corev1.Pod) bool { return pod.Name == parts[len(parts)-2] }):
		p.dialled = append(p.dialled, parts[len(parts)-2]+":"+r.URL.Query().Get("ports"))
		p.mu.Unlock()
		defer p.mu.Lock()
		forwards(p.t, echoes)(w, r)
	default:
		testserver.Fail(w, 404, "NotFound", "no such object")
	}
}

func (p *podServer) set(pods ...corev1.Pod) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pods = pods
}

// selecting returns objects that select pods, by path.
func selecting() map[string]any {
	labels := map[string]string{"app": "web"}
	return map[string]any{
		"/api/v1/namespaces/prod/services/web": &corev1.Service{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: metav1.ObjectMeta{Name: "web"},
			Spec: corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{
				{Name: "plain", Port: 80, TargetPort: intstrOf("http")}, {Name: "metrics", Port: 81, TargetPort: intstrOf(9090)}, {Port: 82},
			}},
		},
		"/api/v1/namespaces/prod/services/external": &corev1.Service{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, Spec: corev1.ServiceSpec{Type: "ExternalName"},
		},
		"/apis/apps/v1/namespaces/prod/deployments/web": &appsv1.Deployment{
			TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
			Spec:     appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}},
		},
	}
}

// TestPortForwardToServiceReachesReadyPod checks that each connection reaches a ready pod at the target port of the
// service.
func TestPortForwardToServiceReachesReadyPod(t *testing.T) {
	p := &podServer{t: t, objects: selecting()}
	p.set(readyPod("young", true, 1), readyPod("starting", false, 9), readyPod("old", true, 2))
	s := testserver.New(t, p.ServeHTTP)
	f, err := pod.PortForwardTo(t.Context(), client.Namespaced[corev1.Service](s.Client(t), "prod"), "web", nil)
	if err != nil {
		t.Fatal(err)
	}
	dial := func(port string) error {
		conn, err := f.Dial(t.Context(), port)
		if err == nil {
			conn.Close()
		}
		return err
	}
	for _, port := range []string{"80", "plain", "81", "82"} {
		if err := dial(port); err != nil {
			t.Errorf("Dial(%q) = %v", port, err)
		}
	}
	p.set(readyPod("young", true, 1)) // the next connection fails to reach old, and finds young
	if err := dial("80"); err != nil {
		t.Error(err)
	}
	if got, want := strings.Join(p.dialled, " "), "old:8002 old:8002 old:9090 old:82 young:8001"; got != want {
		t.Errorf("connections = %s, want %s", got, want)
	}
	if err := dial("8080"); err == nil || !strings.Contains(err.Error(), "services web has no TCP port 8080; it has 80, plain, 81, metrics, 82") {
		t.Errorf("Dial(8080) = %v, want an error that lists the ports", err)
	}
	p.set()
	if err := dial("80"); err == nil || !strings.Contains(err.Error(), "no pod has the labels app=web") {
		t.Errorf("Dial() without pods = %v, want that no pod has the labels", err)
	}
	p.set(readyPod("starting", false, 1), readyPod("failing", false, 1))
	if none, ok := errors.AsType[*pod.NoReadyPodError](dial("80")); !ok || none.Pods != 2 {
		t.Errorf("Dial() without a ready pod = %v, want a NoReadyPodError with 2 pods", none)
	}
}

func TestPortForwardToDeploymentReachesItsPods(t *testing.T) {
	p := &podServer{t: t, objects: selecting()}
	p.set(readyPod("web-0", true, 1))
	s := testserver.New(t, p.ServeHTTP)
	c := s.Client(t)
	f, err := pod.PortForwardTo(t.Context(), client.Namespaced[appsv1.Deployment](c, "prod"), "web", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, port := range []string{"http", "9090"} {
		conn, err := f.Dial(t.Context(), port)
		if err != nil {
			t.Fatal(err)
		}
		conn.Close()
	}
	if got, want := strings.Join(p.dialled, " "), "web-0:8001 web-0:9090"; got != want {
		t.Errorf("connections = %s, want %s", got, want)
	}
	services := client.Namespaced[corev1.Service](c, "prod")
	if _, err := pod.PortForwardTo(t.Context(), services, "external", nil); err == nil || !strings.Contains(err.Error(), "services external has no selector") {
		t.Errorf("PortForwardTo() a service without a selector = %v, want an error", err)
	}
	if _, err := pod.PortForwardTo(t.Context(), services, "absent", nil); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("PortForwardTo() an absent service = %v, want not found", err)
	}
}

// TestPortForwardSkipsPortsOfOtherProtocols checks that a connection uses the TCP port of a number that a service also
// has for UDP, and that an error names the protocol of other ports.
func TestPortForwardSkipsPortsOfOtherProtocols(t *testing.T) {
	p := &podServer{t: t, objects: map[string]any{
		"/api/v1/namespaces/prod/services/dns": &corev1.Service{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: metav1.ObjectMeta{Name: "dns"},
			Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{
				{Name: "dns", Protocol: "UDP", Port: 53, TargetPort: intstrOf(8053)},
				{Name: "dns-tcp", Protocol: "TCP", Port: 53, TargetPort: intstrOf(8054)},
				{Name: "named", Port: 54, TargetPort: intstrOf("dns")},
			}},
		},
	}}
	one := readyPod("web", true, 1)
	one.Spec.Containers[0].Ports = []corev1.ContainerPort{{Name: "dns", Protocol: "UDP", ContainerPort: 8053}}
	p.set(one)
	s := testserver.New(t, p.ServeHTTP)
	f, err := pod.PortForwardTo(t.Context(), client.Namespaced[corev1.Service](s.Client(t), "prod"), "dns", nil)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := f.Dial(t.Context(), "53")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if got, want := conn.RemoteAddr().String(), "prod/web:8054"; got != want {
		t.Errorf("the connection leads to %s, want %s", got, want)
	}
	for port, want := range map[string]string{
		"dns":   "services dns has no TCP port dns; it has 53/UDP, dns/UDP, 53, dns-tcp, 54, named",
		"named": "pod web has no TCP port dns; it has dns/UDP",
	} {
		if _, err := f.Dial(t.Context(), port); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Dial(%q) = %v, want %q", port, err, want)
		}
	}
}
