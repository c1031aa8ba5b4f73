// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/kube"
)

// send sends a request that package request has built, and returns the response body.
func send(t *testing.T, c *kube.Client, r *request.Request, err error) ([]byte, error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(limit(t), r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return body, nil
}

// target returns the target of requests about an object of k8s.io/api.
func target[K any, P interface {
	*K
	kube.Object
}](t *testing.T, namespace, name string) request.Target {
	t.Helper()
	res, err := core.ResourceOf[K, P]()
	if err != nil {
		t.Fatal(err)
	}
	return request.Target{Resource: res, Namespace: namespace, Name: name}
}

// TestServerUnderstandsRequests checks that a real server interprets the requests of package request as intended.
func TestServerUnderstandsRequests(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	ns := newNamespace(t, c)
	awaitPods(t, c, ns)
	pods := kube.Namespaced[corev1.Pod](c, ns)
	spec := podSpec("")
	spec.SchedulerName = "nobody" // so that the pod waits for a node
	pod, err := pods.Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-0"}, Spec: spec}, nil)
	if err != nil {
		t.Fatal(err)
	}
	at := target[corev1.Pod](t, ns, pod.Name)

	t.Run("preconditions of a binding and an eviction", func(t *testing.T) {
		bind := func(o request.BindOptions) error {
			o.DryRun = true
			r, err := request.Bind(at, "n1", &o)
			_, err = send(t, c, r, err)
			return err
		}
		evict := func(o request.EvictOptions) error {
			o.DryRun = true
			r, err := request.Evict(at, &o)
			_, err = send(t, c, r, err)
			return err // the server needs 10 s to report a failed precondition, so that is not tested here
		}
		for _, tt := range []struct {
			name string
			err  error
			want error // nil means success
		}{
			{"binding", bind(request.BindOptions{
				UID: pod.UID, ResourceVersion: pod.ResourceVersion, Annotations: map[string]string{"a": "b"},
			}), nil},
			{"binding of a deleted pod", bind(request.BindOptions{UID: "0"}), kube.ErrConflict},
			{"binding of an old version of a pod", bind(request.BindOptions{ResourceVersion: "1"}), kube.ErrConflict},
			{"eviction", evict(request.EvictOptions{
				UID: pod.UID, Propagation: metav1.DeletePropagationBackground, GracePeriod: new(time.Duration(0)),
			}), nil},
		} {
			if tt.want == nil && tt.err != nil || !errors.Is(tt.err, tt.want) {
				t.Errorf("%s: %v, want %v", tt.name, tt.err, tt.want)
			}
		}
		now, err := pods.Get(t.Context(), pod.Name, nil)
		if err != nil || now.Spec.NodeName != "" || now.DeletionTimestamp != nil || now.Annotations["a"] != "" {
			t.Errorf("after the dry runs: %v, %v, want the pod unchanged", now, err)
		}
	})

	t.Run("a token with every option", func(t *testing.T) {
		r, err := request.Token(target[corev1.ServiceAccount](t, ns, "default"), &request.TokenOptions{
			Audiences: []string{"vault"}, Expiration: 20 * time.Minute,
			BoundObject: &request.BoundObject{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID},
		})
		body, err := send(t, c, r, err)
		if err != nil {
			t.Fatal(err)
		}
		var token authenticationv1.TokenRequest
		if err := json.Unmarshal(body, &token); err != nil || token.Status.Token == "" {
			t.Fatalf("the response has no token: %v", err)
		}
		secret(t, "token", token.Status.Token)
	})

	t.Run("tables and metadata", func(t *testing.T) {
		table, metadata := at, at
		table.View = request.ViewTable
		metadata.View, metadata.Encoding = request.ViewMetadata, wire.JSON
		kindOf := func(r *request.Request, err error) string {
			body, err := send(t, c, r, err)
			if err != nil {
				t.Error(err)
			}
			var tm metav1.TypeMeta
			if err := json.Unmarshal(body, &tm); err != nil {
				t.Errorf("%s: %v", body, err)
			}
			return tm.Kind
		}
		patch := request.MergePatch(`{"metadata":{"labels":{"a":"b"}}}`)
		own := &metav1.PartialObjectMetadata{
			ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Labels: map[string]string{"c": "d"}},
		}
		for _, tt := range []struct{ name, got, want string }{
			{"get of a table", kindOf(request.Get(table, nil)), "Table"},
			{"get of metadata", kindOf(request.Get(metadata, nil)), "PartialObjectMetadata"},
			{"patch for metadata", kindOf(request.PatchObject(metadata, patch, nil)), "PartialObjectMetadata"},
			{
				"apply of metadata",
				kindOf(request.Apply(metadata, own, &request.ApplyOptions{FieldManager: "me"})), "PartialObjectMetadata",
			},
		} {
			if tt.got != tt.want {
				t.Errorf("%s: %q, want %q", tt.name, tt.got, tt.want)
			}
		}
		now, err := pods.Get(t.Context(), pod.Name, nil)
		if err != nil || now.Labels["a"] != "b" || now.Labels["c"] != "d" || len(now.Spec.Containers) != 1 {
			t.Errorf("after the patch and the apply: %v, %v, want both labels and the container", now, err)
		}
	})

	t.Run("a watch of a table", func(t *testing.T) {
		table := target[corev1.Pod](t, ns, "")
		table.View = request.ViewTable
		r, err := request.Watch(table, &request.WatchOptions{Timeout: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		resp, err := c.Do(limit(t), r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		line, err := bufio.NewReader(resp.Body).ReadBytes('\n')
		if err != nil {
			t.Fatal(err)
		}
		var event struct {
			Type   string
			Object metav1.Table
		}
		if err := json.Unmarshal(line, &event); err != nil {
			t.Fatal(err)
		}
		rows := event.Object.Rows
		if event.Type != "ADDED" || event.Object.Kind != "Table" || len(rows) != 1 || rows[0].Object.Raw == nil {
			t.Errorf("the first event is %s, want ADDED with a table of one row and its metadata", line)
		}
	})

	t.Run("invalid selectors", func(t *testing.T) {
		for key, selectors := range map[string][]string{
			"labelSelector": {"app===web", "a in b", "a=b=c", "-a", "a in (b", "a=%"},
			"fieldSelector": {"metadata.name"},
		} {
			for _, selector := range selectors {
				o := &request.ListOptions{LabelSelector: selector}
				if key == "fieldSelector" {
					o = &request.ListOptions{FieldSelector: selector}
				}
				if _, err := request.List(target[corev1.Pod](t, ns, ""), o); err == nil {
					t.Errorf("List with the %s %q succeeds, want an error", key, selector)
				}
				r, err := request.List(target[corev1.Pod](t, ns, ""), nil)
				r.Query = url.Values{key: {selector}}
				if _, err = send(t, c, r, err); !errors.Is(err, core.ErrBadRequest) {
					t.Errorf("response to the %s %q: %v, want ErrBadRequest", key, selector, err)
				}
			}
		}
	})

	t.Run("the timeout of a list", func(t *testing.T) {
		// The server waits three seconds for a future resource version, and then responds that the version is too large. A
		// shorter timeout ends that wait.
		from := request.ListOptions{
			ResourceVersion: "9000000000000000", ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
		}
		for timeout, wantCause := range map[time.Duration]bool{0: true, time.Second: false} {
			from.Timeout = timeout
			r, err := request.List(target[corev1.Pod](t, ns, ""), &from)
			if err != nil {
				t.Fatal(err)
			}
			if resp, err := c.Do(middleware.WithAttempts(limit(t), 1), r); err == nil {
				resp.Body.Close()
				t.Errorf("with timeout %v, the list succeeds, want ErrTimeout", timeout)
			} else if _, ok := core.CauseOf(err, metav1.CauseTypeResourceVersionTooLarge); ok != wantCause ||
				!errors.Is(err, core.ErrTimeout) {
				t.Errorf("with timeout %v: %v; the cause names the version: %t, want %t", timeout, err, ok, wantCause)
			}
		}
	})

	t.Run("a raw path", func(t *testing.T) {
		r, err := request.Raw("/readyz?verbose&exclude=etcd")
		if body, err := send(t, c, r, err); err != nil || !strings.Contains(string(body), "[+]ping ok") {
			t.Errorf("readyz = %s, %v", body, err)
		}
	})
}

// TestProxiedRequestsArriveUnchanged checks that a request to a pod or a service through the API server arrives as it
// was built.
func TestProxiedRequestsArriveUnchanged(t *testing.T) {
	t.Parallel()
	c := clusterWithNode(t)
	ns := newNamespace(t, c)
	awaitPods(t, c, ns)
	labels := map[string]string{"app": "web"}
	spec := podSpec(nodeOf(t, c))
	serve(&spec.Containers[0])
	startPod(t, kube.Namespaced[corev1.Pod](c, ns), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web-0", Labels: labels}, Spec: spec,
	})
	pod := target[corev1.Pod](t, ns, "web-0")
	service, named := target[corev1.Service](t, ns, "web"), target[corev1.Service](t, ns, "named")
	for name, port := range map[string]string{service.Name: "", named.Name: "http"} {
		_, err := kube.Namespaced[corev1.Service](c, ns).Create(t.Context(), &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: corev1.ServiceSpec{
				Selector: labels, Ports: []corev1.ServicePort{{Name: port, Port: 80, TargetPort: intstr.FromInt32(8080)}},
			},
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
	}
	echo := request.ProxyOptions{
		Method: "POST", Port: "8080", Path: "/echo", Body: []byte("a<b>\n"), ContentType: "text/plain",
	}
	query := request.ProxyOptions{Port: "8080", Path: "bytes", Query: url.Values{"size": {"0"}}}
	for _, tt := range []struct {
		name string
		at   request.Target
		o    *request.ProxyOptions
		want string
	}{
		{"the root of a pod", pod, &request.ProxyOptions{Port: "8080"}, "web-0\n"},
		{"the root of a pod with a scheme", pod, &request.ProxyOptions{Scheme: "http", Port: "8080"}, "web-0\n"},
		{"a path with a query", pod, &query, ""},
		{"a body", pod, &echo, string(echo.Body)},
		{"a service", service, nil, "web-0\n"},
		{"a service by its port", service, &request.ProxyOptions{Port: "80"}, "web-0\n"},
		{"a service by the name of its port", named, &request.ProxyOptions{Scheme: "http", Port: "http"}, "web-0\n"},
	} {
		eventually(t, tt.name, func(context.Context) error { // a service finds its pods after a moment
			r, err := request.Proxy(tt.at, tt.o)
			body, err := send(t, c, r, err)
			if err == nil && string(body) != tt.want {
				t.Fatalf("%s: %q, want %q", tt.name, body, tt.want)
			}
			return err
		})
	}
	r, err := request.Proxy(pod, &request.ProxyOptions{Port: "8080", Path: "no such path"})
	_, err = send(t, c, r, err)
	if !errors.Is(err, kube.ErrNotFound) || !strings.Contains(err.Error(), "404 page not found") {
		t.Errorf("a path that the pod does not have: %v, want ErrNotFound with the pod's response", err)
	}
}
