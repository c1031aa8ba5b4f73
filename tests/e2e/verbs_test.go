// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client/middleware"
	v1 "github.com/kube-go/sdk/examples/document-controller/api/v1"
	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/runtime/wait"
)

// TestModify promises that no change is lost when many make one at once, and that what a type does not declare stays.
func TestModify(t *testing.T) {
	c := connect(t, nil)
	ns := newNamespace(t, c)
	maps := kube.Namespaced[corev1.ConfigMap](c, ns)
	cm := configMap("counter", "0")
	cm.BinaryData = map[string][]byte{"raw": {1, 2, 3}}
	if _, err := maps.Create(t.Context(), cm, nil); err != nil {
		t.Fatal(err)
	}
	const writers = 20
	lean := kube.Namespaced[leanConfigMap](c, ns)
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			_, err := lean.Modify(limit(t), "counter", func(cm *leanConfigMap) error {
				n, err := strconv.Atoi(cm.Data["v"])
				cm.Data["v"] = strconv.Itoa(n + 1)
				return err
			}, &kube.ModifyOptions{Attempts: 100})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	got, err := maps.Get(t.Context(), "counter", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got.Data["v"] != strconv.Itoa(writers) || len(got.BinaryData["raw"]) != 3 {
		t.Errorf("after %d changes: %v, %v", writers, got.Data, got.BinaryData)
	}
	same, err := lean.Modify(t.Context(), "counter", func(*leanConfigMap) error { return nil }, nil)
	if err != nil || same.ResourceVersion != got.ResourceVersion {
		t.Errorf("a change of nothing: %v, %v; want version %s", same, err, got.ResourceVersion)
	}
}

// TestCreateOrUpdate promises that many may see to one object at once.
func TestCreateOrUpdate(t *testing.T) {
	c := connect(t, nil)
	maps := kube.Namespaced[corev1.ConfigMap](c, newNamespace(t, c))
	const writers = 6
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			_, err := maps.CreateOrUpdate(limit(t), "shared", func(cm *corev1.ConfigMap) error {
				if cm.Data == nil {
					cm.Data = map[string]string{}
				}
				cm.Data[fmt.Sprint("w", i)] = "was here"
				return nil
			}, &kube.ModifyOptions{Attempts: 100})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	got, err := maps.GetOrNil(t.Context(), "shared", nil)
	if err != nil || got == nil || len(got.Data) != writers {
		t.Errorf("GetOrNil = %v, %v; want %d keys", got, err, writers)
	}
	if other, err := maps.GetOrNil(t.Context(), "other", nil); other != nil || err != nil {
		t.Errorf("GetOrNil of nothing = %v, %v", other, err)
	}
	entry, err := maps.Entry(t.Context(), "shared", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := maps.Patch(t.Context(), "shared", setValue("newer"), nil); err != nil {
		t.Fatal(err)
	}
	entry.Object().Data["v"] = "older"
	if _, err := entry.Commit(t.Context(), nil); !errors.Is(err, kube.ErrConflict) {
		t.Errorf("commit of an entry that has changed: %v, want ErrConflict", err)
	}
}

// TestDeleteAndWait promises that an object is gone when it returns, or else that the error says what holds it.
func TestDeleteAndWait(t *testing.T) {
	c := connect(t, nil)
	maps := kube.Namespaced[corev1.ConfigMap](c, newNamespace(t, c))
	held := configMap("held", "1")
	held.Finalizers = []string{"example.com/guard"}
	for _, cm := range []*corev1.ConfigMap{held, configMap("free", "1")} {
		if _, err := maps.Create(t.Context(), cm, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := kube.DeleteAndWait(limit(t), maps, "free", nil); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeoutCause(t.Context(), 5*time.Second, errors.New("that was long enough"))
	defer cancel()
	err := kube.DeleteAndWait(ctx, maps, "held", nil)
	if err == nil || !strings.HasSuffix(err.Error(), "that was long enough; last seen: it is being deleted and waits for example.com/guard") {
		t.Errorf("error = %v, want the finalizer in it", err)
	}
	done := make(chan error, 1)
	go func() { done <- kube.DeleteAndWait(limit(t), maps, "held", nil) }()
	_, err = maps.Modify(limit(t), "held", func(cm *corev1.ConfigMap) error {
		cm.Finalizers = nil
		return nil
	}, nil)
	if err != nil {
		t.Error(err)
	}
	// The deletion may come after the object has gone, since it was being deleted before.
	if err := <-done; err != nil && !errors.Is(err, kube.ErrNotFound) {
		t.Error(err)
	}
	if cm, err := maps.GetOrNil(t.Context(), "held", nil); cm != nil || err != nil {
		t.Errorf("after all: %v, %v", cm, err)
	}
}

// TestDeleteAndWaitForOneOfMany promises that the wait is for the object that was deleted, not for those that take its
// name as soon as it is gone.
func TestDeleteAndWaitForOneOfMany(t *testing.T) {
	c := connect(t, nil)
	maps := kube.Namespaced[corev1.ConfigMap](c, newNamespace(t, c))
	again := func(ctx context.Context) error { // somebody who always wants one to be there
		for ctx.Err() == nil {
			if _, err := maps.Create(ctx, configMap("web", "1"), nil); err != nil && !errors.Is(err, kube.ErrAlreadyExists) {
				return err
			}
		}
		return context.Cause(ctx)
	}
	stop := background(t, again)
	for range 10 {
		old, err := kube.Await(limit(t), maps, "web", wait.Exists[corev1.ConfigMap](), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := kube.DeleteAndWait(limit(t), maps, "web", &kube.DeleteOptions{UID: old.UID}); err != nil {
			t.Fatal(err)
		}
		if now, err := maps.GetOrNil(limit(t), "web", nil); err != nil || now != nil && now.UID == old.UID {
			t.Errorf("after the wait: %v, %v; want another object", now, err)
		}
	}
	if err := stop(); !errors.Is(err, errStopped) {
		t.Error(err)
	}
}

// TestAllGoesOn promises that an iteration goes on although the server has forgotten the state that it began with. The
// test sees to that by an old version in the token of the second page. The kind is new, so that the server has no memory of
// its own of that version.
func TestAllGoesOn(t *testing.T) {
	var mu sync.Mutex
	aged, refused := 0, 0
	age := func(next http.RoundTripper) http.RoundTripper {
		return middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
			q := r.URL.Query()
			mu.Lock()
			if token := q.Get("continue"); token != "" && aged == 0 {
				aged++
				q.Set("continue", agedToken(t, token))
				r = r.Clone(r.Context())
				r.URL.RawQuery = q.Encode()
			}
			mu.Unlock()
			resp, err := next.RoundTrip(r)
			if err == nil && resp.StatusCode == http.StatusGone {
				mu.Lock()
				refused++
				mu.Unlock()
			}
			return resp, err
		})
	}
	c := connect(t, nil)
	installDocuments(t, c)
	ns := newNamespace(t, c)
	for i := range 7 {
		doc := &v1.Document{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("page-", i)}, Spec: v1.DocumentSpec{Title: "t"}}
		if _, err := kube.Namespaced[v1.Document](c, ns).Create(t.Context(), doc, nil); err != nil {
			t.Fatal(err)
		}
	}
	if builtin != nil { // other servers forget in their own time
		if _, err := builtin.CompactEtcd(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	slow := kube.Namespaced[v1.Document](connect(t, &kube.ClientOptions{Middleware: []kube.Middleware{age}}), ns)
	var names []string
	for doc, err := range slow.All(t.Context(), &kube.ListOptions{Limit: 3}) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, doc.Name)
	}
	want := []string{"page-0", "page-1", "page-2", "page-3", "page-4", "page-5", "page-6"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	if refused > 1 || refused == 0 && builtin != nil { // a server that is young may remember everything
		t.Errorf("the server has refused %d pages, want one", refused)
	}
}

// agedToken returns a continue token with the version of long ago.
func agedToken(t *testing.T, token string) string {
	t.Helper()
	data, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		t.Fatal(err)
	}
	if _, ok := fields["rv"]; !ok {
		t.Fatalf("the token %s holds no version", data)
	}
	fields["rv"] = 1
	if data, err = json.Marshal(fields); err != nil {
		t.Fatal(err)
	}
	return base64.RawURLEncoding.EncodeToString(data)
}
