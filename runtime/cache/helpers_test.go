// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/internal/fakeapi"
)

// errStop ends the views of the tests.
var errStop = errors.New("the test is over")

var (
	configMaps, _ = core.ResourceOf[corev1.ConfigMap]()
	nodes, _      = core.ResourceOf[corev1.Node]()
)

func ref(s string) core.ObjectRef { return core.ParseObjectRef(s) }

// configMap returns an object whose value identifies its state.
func configMap(name, value string) *corev1.ConfigMap {
	r := ref(name)
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: r.Name, Labels: map[string]string{"value": value}},
		Data:       map[string]string{"value": value},
	}
}

// newServer returns a server with objects.
func newServer(names ...string) *fakeapi.Server {
	s := fakeapi.New(configMaps, nodes)
	for _, name := range names {
		s.Put(configMaps, configMap(name, "first"))
	}
	return s
}

// through returns a cache whose client sends its requests through a transport.
func through(t *testing.T, rt http.RoundTripper) *cache.Cache {
	t.Helper()
	return cache.New(fakeapi.ClientOf(rt), nil)
}

// start runs a view in the test's bubble until the test ends, and waits until it is idle. The returned function stops
// it earlier, and checks the error of Run.
func start[K any](t *testing.T, v *cache.View[K]) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- v.Run(ctx) }()
	t.Cleanup(func() { cancel(errStop) })
	synctest.Wait()
	return func() {
		t.Helper()
		cancel(errStop)
		if err := <-ended; err != errStop {
			t.Errorf("Run() = %v, want the cause", err)
		}
	}
}

func wantRequests(t *testing.T, s *fakeapi.Server, want ...string) {
	t.Helper()
	if got := s.Kind(configMaps).Requests(); !slices.Equal(got, want) {
		t.Errorf("the server received %q, want %q", got, want)
	}
}

func wantNames(t *testing.T, v *cache.View[corev1.ConfigMap], want ...string) {
	t.Helper()
	var got []string
	for obj, err := range v.Store().All(nil) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, core.RefOf(obj).String())
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("the view holds %q, want %q", got, want)
	}
}
