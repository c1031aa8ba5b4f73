// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/client/pod"
	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/runtime/wait"
)

// limit returns a context for one step of a test. Its timeout is longer than any step should take.
func limit(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), 3*time.Minute, errors.New("the step took more than three minutes"))
	t.Cleanup(cancel)
	return ctx
}

// configMap returns a ConfigMap with one value.
func configMap(name, value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"v": value}}
}

// setValue returns a patch of the value of configMap.
func setValue(value string) kube.Patch {
	return kube.MergePatch(map[string]any{"data": map[string]string{"v": value}})
}

// setTo sets the value of a config map.
func setTo(t *testing.T, maps *kube.API[corev1.ConfigMap], name, value string) {
	t.Helper()
	if _, err := maps.Patch(limit(t), name, setValue(value), nil); err != nil {
		t.Fatal(err)
	}
}

// background runs a function until the test ends or stop is called. The context of the function ends with the cause
// errStopped. The error of stop is the result of the function.
func background(t *testing.T, run func(context.Context) error) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	stop = sync.OnceValue(func() error {
		cancel(errStopped)
		return <-done
	})
	t.Cleanup(func() {
		if err := stop(); err != nil && !errors.Is(err, errStopped) {
			t.Errorf("background function: %v", err)
		}
	})
	return stop
}

var errStopped = errors.New("stopped by the test")

// awaitValue waits until it receives a value from a channel. It ignores other values.
func awaitValue[T comparable](t *testing.T, values <-chan T, want T) {
	t.Helper()
	for ctx := limit(t); ; {
		select {
		case got := <-values:
			if got == want {
				return
			}
		case <-ctx.Done():
			t.Fatalf("%v was not received in time", want)
		}
	}
}

// requests records the requests of a client. It is safe for concurrent use.
type requests struct {
	mu   sync.Mutex // guards sent
	sent []string
}

// layer is a middleware that records requests.
func (r *requests) layer(next http.RoundTripper) http.RoundTripper {
	return middleware.RoundTripperFunc(func(req *http.Request) (*http.Response, error) {
		r.mu.Lock()
		r.sent = append(r.sent, req.Method+" "+req.URL.RequestURI())
		r.mu.Unlock()
		return next.RoundTrip(req)
	})
}

// count returns the number of requests whose method and URI contain all the given parts.
func (r *requests) count(parts ...string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, line := range r.sent {
		if !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) }) {
			n++
		}
	}
	return n
}

// troubles records errors. It is safe for concurrent use.
type troubles struct {
	mu   sync.Mutex // guards errs
	errs []error
}

func (n *troubles) add(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.errs = append(n.errs, err)
}

func (n *troubles) all() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return errors.Join(n.errs...)
}

// guarded is a value that several goroutines read and write.
type guarded[T any] struct {
	mu    sync.Mutex // guards value
	value T
}

func (g *guarded[T]) get() T {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.value
}

func (g *guarded[T]) set(value T) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.value = value
}

// awaitPods waits until pods can be created in a new namespace, which requires its service account.
func awaitPods(t *testing.T, c *kube.Client, ns string) {
	t.Helper()
	accounts := kube.Namespaced[corev1.ServiceAccount](c, ns)
	if _, err := kube.Await(limit(t), accounts, "default", wait.Exists[corev1.ServiceAccount](), nil); err != nil {
		t.Fatal(err)
	}
}

// awaitRootCA waits until a new namespace has the ConfigMap that Kubernetes creates in every namespace.
func awaitRootCA(t *testing.T, c *kube.Client, ns string) {
	t.Helper()
	maps := kube.Namespaced[corev1.ConfigMap](c, ns)
	if _, err := kube.Await(limit(t), maps, "kube-root-ca.crt", wait.Exists[corev1.ConfigMap](), nil); err != nil {
		t.Fatal(err)
	}
}

// grant gives a user the permission to read some resources of the core group in a namespace.
func grant(t *testing.T, admin *kube.Client, ns, user string, resources ...string) {
	t.Helper()
	name := user + "-" + strings.Join(resources, "-")
	role := &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: resources, Verbs: []string{"get", "list", "watch"}},
		},
	}
	if _, err := kube.Namespaced[rbacv1.Role](admin, ns).Create(limit(t), role, nil); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}},
	}
	if _, err := kube.Namespaced[rbacv1.RoleBinding](admin, ns).Create(limit(t), binding, nil); err != nil {
		t.Fatal(err)
	}
}

// podVerbs returns the API of the verbs that only pods have, with the client and the namespace of another API.
func podVerbs(pods *kube.API[corev1.Pod]) *pod.API {
	return kube.Pods(pods.Client(), pods.Namespace())
}
