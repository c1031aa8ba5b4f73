// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kubetest_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/kubetest"
	"github.com/kube-go/sdk/kubetest/conformance"
)

func TestConformance(t *testing.T) {
	conformance.Run(t, kubetest.Start(t, nil).Client(nil))
}

func TestControllersConformance(t *testing.T) {
	conformance.RunControllers(t, kubetest.Start(t, nil).Client(nil))
}

// pod returns a pod on a node, as a kubelet reports it.
func pod(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "shop", UID: "u-1",
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "r", UID: "invented"}},
		},
		Spec:   corev1.PodSpec{NodeName: "n", Containers: []corev1.Container{{Name: "c", Image: "i"}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
}

func TestObjectsOfOptionsKeepTheirStatusUIDAndOwners(t *testing.T) {
	c := kubetest.Start(t, &kubetest.Options{Objects: []kube.Object{pod("a")}}).Client(nil)
	got, err := kube.Namespaced[corev1.Pod](c, "shop").Get(t.Context(), "a", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got.Status.Phase != corev1.PodRunning || got.UID != "u-1" || len(got.OwnerReferences) != 1 {
		t.Errorf("pod = %+v, want the status, the UID and the owner of the options", got)
	}
	if got.Spec.RestartPolicy != corev1.RestartPolicyAlways || got.ResourceVersion == "" {
		t.Errorf("pod = %+v, want defaults and a version", got)
	}
}

// failure records the message of Fatalf, which ends the goroutine.
type failure struct {
	testing.TB
	text string
}

func (f *failure) Helper() {}

func (f *failure) Fatalf(format string, args ...any) {
	f.text = fmt.Sprintf(format, args...)
	panic(f)
}

func (f *failure) Fatal(args ...any) { f.Fatalf("%s", fmt.Sprint(args...)) }

// failed returns the message with which f ends a test.
func failed(t *testing.T, f func(testing.TB)) (text string) {
	t.Helper()
	tb := &failure{TB: t}
	defer func() {
		if got := recover(); got != nil && got != any(tb) {
			panic(got)
		}
		text = tb.text
	}()
	f(tb)
	return ""
}

func TestMistakesInOptionsNameTheObject(t *testing.T) {
	widget := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": "w", "namespace": "shop"},
	}}
	unnamed := configMap("a")
	unnamed.Namespace = ""
	invalid := configMap("In Valid")
	missing := func() (*unstructured.Unstructured, error) { return nil, errors.New("no definition") }
	for _, tt := range []struct {
		name string
		o    kubetest.Options
		want string
	}{
		{"no definition of the kind", kubetest.Options{Objects: []kube.Object{widget}}, "Options.Objects[0], *unstructured.Unstructured " +
			"shop/w: the server has no kind example.com/v1, Kind=Widget: add its definition to Options.Definitions"},
		{"no namespace", kubetest.Options{Objects: []kube.Object{unnamed}}, "Options.Objects[0], *v1.ConfigMap a: the namespace is " +
			"empty: configmaps are in namespaces"},
		{"an invalid name", kubetest.Options{Objects: []kube.Object{configMap("a"), invalid}}, "Options.Objects[1], *v1.ConfigMap " +
			`shop/In Valid: ConfigMap "In Valid" is invalid: metadata.name: Invalid value: "In Valid"`},
		{"a pattern without files", kubetest.Options{Files: []string{"testdata/missing*.yaml"}}, "Options.Files[0]: " +
			"testdata/missing*.yaml matches no file"},
		{"a bad pattern", kubetest.Options{Files: []string{"["}}, "Options.Files[0]: syntax error in pattern"},
		{"a file without objects", kubetest.Options{Files: []string{"go.mod"}}, "Options.Files[0]: go.mod: "},
		{
			"an invalid object in a file",
			kubetest.Options{Files: []string{"testdata/invalid.yaml"}},
			"testdata/invalid.yaml:8 shop/In Valid: ConfigMap",
		},
		{"the same object twice", kubetest.Options{Objects: []kube.Object{configMap("a"), configMap("a")}}, "Options.Objects[1], " +
			`*v1.ConfigMap shop/a: configmaps "a" already exists`},
		{
			"a definition that fails",
			kubetest.Options{Definitions: []func() (*unstructured.Unstructured, error){missing}},
			"Options.Definitions[0]: no definition",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := failed(t, func(tb testing.TB) {
				tb.Helper()
				tb.Helper()
				kubetest.Start(tb, &tt.o)
			})
			if !strings.Contains(got, tt.want) {
				t.Errorf("Start fails with %q, want %q", got, tt.want)
			}
		})
	}
}

func TestClientsOfOtherServersAreRefused(t *testing.T) {
	got := failed(t, func(tb testing.TB) {
		tb.Helper()
		kubetest.Start(tb, nil).Client(&kube.ClientOptions{Config: &kube.Config{Server: "https://other"}})
	})
	if !strings.Contains(got, "Context, Share and Transport determine another server: leave them empty") {
		t.Errorf("Client fails with %q, want the fields to leave empty", got)
	}
}

func TestClientsHaveANamespace(t *testing.T) {
	const account = "system:serviceaccount:shop:controller"
	for _, tt := range []struct {
		name   string
		config *kube.Config
		want   string
	}{
		{"without a configuration", nil, "default"},
		{"of a namespace", &kube.Config{Namespace: "prod"}, "prod"},
		{"of a user", &kube.Config{Impersonate: config.Impersonation{User: "jane"}}, "default"},
		{"of a service account", &kube.Config{Impersonate: config.Impersonation{User: account}}, "shop"},
	} {
		c := kubetest.Start(t, nil).Client(&kube.ClientOptions{Config: tt.config})
		if got := c.Namespace(); got != tt.want {
			t.Errorf("a client %s has the namespace %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestPodsHaveTheDefaultServiceAccount(t *testing.T) {
	pods := kube.Namespaced[corev1.Pod](kubetest.Start(t, nil).Client(nil), "default")
	created := pod("a")
	created.Namespace, created.UID = "default", ""
	applied := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "b"}, Spec: created.Spec}
	_, err := pods.Create(t.Context(), created, nil)
	if err == nil {
		_, err = pods.Apply(t.Context(), applied, &kube.ApplyOptions{FieldManager: "m"})
	}
	if err != nil {
		t.Fatal(err)
	}
	for pod, err := range pods.All(t.Context(), nil) {
		if err != nil || pod.Spec.ServiceAccountName != "default" || pod.Spec.DeprecatedServiceAccount != "default" {
			t.Errorf("pod %s = %+v, %v; want the default service account", pod.Name, pod.Spec, err)
		}
	}
}

func TestObjectsOfFilesExist(t *testing.T) {
	c := kubetest.Start(t, &kubetest.Options{Files: []string{"testdata/rol?.yaml"}}).Client(nil)
	roles := kube.Namespaced[rbacv1.Role](c, "shop")
	if role, err := roles.Get(t.Context(), "reader", nil); err != nil || len(role.Rules) != 1 {
		t.Errorf("the role is %+v, %v; want that of the file", role, err)
	}
}

func TestRolesDecideWhatAnImpersonatedUserMayDo(t *testing.T) {
	s := kubetest.Start(t, &kubetest.Options{
		Files: []string{"testdata/role.yaml"}, Objects: []kube.Object{configMap("a")},
	})
	for _, tt := range []struct {
		user          config.Impersonation
		reads, writes bool
	}{
		{config.Impersonation{}, true, true},
		{config.Impersonation{User: "system:serviceaccount:shop:reader"}, true, false},
		{config.Impersonation{User: "jane", Groups: []string{"readers"}}, true, false},
		{config.Impersonation{User: "jane"}, false, false},
		{config.Impersonation{User: "jane", Groups: []string{"system:masters"}}, true, true},
	} {
		c := s.Client(&kube.ClientOptions{Config: &kube.Config{Impersonate: tt.user}})
		maps := kube.Namespaced[corev1.ConfigMap](c, "shop")
		_, err := maps.Get(t.Context(), "a", nil)
		if tt.reads != (err == nil) || !tt.reads && !errors.Is(err, kube.ErrForbidden) {
			t.Errorf("%+v: Get = %v, want that it is permitted: %v", tt.user, err, tt.reads)
		}
		_, err = maps.Patch(t.Context(), "a", kube.MergePatch(map[string]any{"data": nil}), nil)
		if tt.writes != (err == nil) || !tt.writes && !errors.Is(err, kube.ErrForbidden) {
			t.Errorf("%+v: Patch = %v, want that it is permitted: %v", tt.user, err, tt.writes)
		}
		if _, err := kube.Discover(t.Context(), c, nil); err != nil {
			t.Errorf("%+v: discovery: %v", tt.user, err)
		}
	}
}

// TestWritesDoNotChangeWhatOthersRead checks that writes which keep parts of the stored object do not change these parts
// while the object is encoded for others. Without the race detector, it checks nothing.
func TestWritesDoNotChangeWhatOthersRead(t *testing.T) {
	c := kubetest.Start(t, &kubetest.Options{Objects: []kube.Object{ready("a")}}).Client(nil)
	pods := kube.Namespaced[corev1.Pod](c, "shop")
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for range 100 {
				if _, err := pods.Get(t.Context(), "a", nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for n := range 50 {
		patch := kube.MergePatch(map[string]any{"status": map[string]any{"message": fmt.Sprint(n)}})
		if _, err := pods.Status().Patch(t.Context(), "a", patch, nil); err != nil {
			t.Error(err)
		}
		patch = kube.MergePatch(map[string]any{"metadata": map[string]any{"labels": map[string]any{"n": fmt.Sprint(n)}}})
		if _, err := pods.Patch(t.Context(), "a", patch, nil); err != nil {
			t.Error(err)
		}
	}
	readers.Wait()
}

func TestPausedWatchesAreStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := kubetest.Start(t, &kubetest.Options{Objects: []kube.Object{configMap("a")}})
		c := s.Client(nil)
		view := kube.ViewOf[corev1.ConfigMap](kube.NewCache(c, nil), nil)
		kubetest.Run(t, view.Run)
		synctest.Wait()
		s.PauseWatches()
		maps := kube.Namespaced[corev1.ConfigMap](c, "shop")
		if _, err := maps.Create(t.Context(), configMap("b"), nil); err != nil {
			t.Fatal(err)
		}
		if err := maps.Delete(t.Context(), "a", nil); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Hour)
		if names := cached(view); names != "a" {
			t.Errorf("the cache has %q while watches are paused, want the old objects", names)
		}
		s.ResumeWatches()
		synctest.Wait()
		if names := cached(view); names != "b" {
			t.Errorf("the cache has %q, want the new objects", names)
		}
	})
}

// cached returns the names of the objects of a view in namespace shop.
func cached(view *kube.View[corev1.ConfigMap]) string {
	var names []string
	for cm, err := range view.Store().All(&kube.SelectOptions{Namespace: "shop"}) {
		if err != nil {
			return err.Error()
		}
		names = append(names, cm.Name)
	}
	return strings.Join(names, " ")
}

// failWrites returns a middleware that fails the first writes with a conflict.
func failWrites(n int32) middleware.Func {
	var failed atomic.Int32
	return func(next http.RoundTripper) http.RoundTripper {
		return middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodGet || failed.Add(1) > n {
				return next.RoundTrip(r)
			}
			return nil, &kube.StatusError{Status: metav1.Status{Code: http.StatusConflict, Reason: metav1.StatusReasonConflict}}
		})
	}
}

func TestControllersRepeatWritesThatFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := kubetest.Start(t, &kubetest.Options{Objects: []kube.Object{configMap("a")}})
		var runs atomic.Int32
		greet(t, s.Client(&kube.ClientOptions{Middleware: []middleware.Func{failWrites(3)}}), &runs)
		<-time.After(time.Minute)
		cm, err := kube.Namespaced[corev1.ConfigMap](s.Client(nil), "shop").Get(t.Context(), "a", nil)
		if err != nil || cm.Data["greeting"] != "hello, a" {
			t.Errorf("config map = %+v, %v; want a greeting after %d runs", cm, err, runs.Load())
		}
	})
}

func TestRunReportsErrors(t *testing.T) {
	var errs []string
	t.Run("function", func(t *testing.T) {
		tb := &errorRecorder{TB: t, errs: &errs}
		kubetest.Run(tb, func(context.Context) error { return errors.New("broken") })
	})
	if len(errs) != 1 || !strings.Contains(errs[0], "broken") {
		t.Errorf("errors = %q, want that of the function", errs)
	}
}

// errorRecorder records errors instead of failing the test.
type errorRecorder struct {
	testing.TB
	errs *[]string
}

func (r *errorRecorder) Errorf(format string, args ...any) {
	*r.errs = append(*r.errs, fmt.Sprintf(format, args...))
}

func TestObjectsWithoutEffectCauseWarnings(t *testing.T) {
	var warnings []string
	c := kubetest.Start(t, nil).Client(&kube.ClientOptions{OnWarning: func(_ context.Context, w middleware.Warning) {
		warnings = append(warnings, w.Text)
	}})
	quotas := kube.Namespaced[corev1.ResourceQuota](c, "default")
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	if _, err := quotas.Create(t.Context(), quota, nil); err != nil {
		t.Fatal(err)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], "kubetest has no quotas and limits") {
		t.Errorf("warnings = %q, want that the quota has no effect", warnings)
	}
}

func TestUnsupportedRequestsAreClearErrors(t *testing.T) {
	c := kubetest.Start(t, &kubetest.Options{Objects: []kube.Object{pod("a")}}).Client(nil)
	_, err := kube.Namespaced[corev1.Pod](c, "shop").Rows().List(t.Context(), nil)
	if err == nil || !strings.Contains(err.Error(), "kubetest does not support tables") {
		t.Errorf("List of rows = %v, want that it is not supported", err)
	}
}
