// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/internal/fakesource"
	"github.com/kube-go/sdk/runtime/reflector"
	"github.com/kube-go/sdk/runtime/watcher"
)

// leanConfigMap is a ConfigMap with only the metadata.
type leanConfigMap struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
}

func (*leanConfigMap) KubeResource() core.Resource { return configMaps }

// valueOf is a ConfigMap with the field that the tests read.
type valueOf struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Data              struct {
		Value string `json:"value"`
	} `json:"data"`
}

func (*valueOf) KubeResource() core.Resource { return configMaps }

func metadataView(c *cache.Cache) *cache.View[metav1.PartialObjectMetadata] {
	return cache.OfResource[metav1.PartialObjectMetadata](c, configMaps, nil)
}

func dynamicView(c *cache.Cache) *cache.View[unstructured.Unstructured] {
	return cache.OfResource[unstructured.Unstructured](c, configMaps, nil)
}

// wantValues checks that views of all types read an object.
func wantValues(t *testing.T, c *cache.Cache, name, value string) {
	t.Helper()
	full, err := cache.Of[corev1.ConfigMap](c, nil).Store().Get(ref(name))
	if err != nil || full.Data["value"] != value || full.Kind != "ConfigMap" {
		t.Errorf("the typed view has %v, %v; want %q", full, err, value)
	}
	lean, err := cache.Of[valueOf](c, nil).Store().Get(ref(name))
	if err != nil || lean.Data.Value != value || lean.Kind != "ConfigMap" {
		t.Errorf("the lean view has %v, %v; want %q", lean, err, value)
	}
	dynamic, err := dynamicView(c).Store().Get(ref(name))
	if err != nil {
		t.Fatal(err)
	}
	got, _, _ := unstructured.NestedString(dynamic.Object, "data", "value")
	if got != value || dynamic.GetKind() != "ConfigMap" || dynamic.GetName() == "" {
		t.Errorf("the dynamic view has %v, want %q", dynamic, value)
	}
	meta, err := metadataView(c).Store().Get(ref(name))
	if err != nil || meta.Labels["value"] != value || meta.Kind != "ConfigMap" {
		t.Errorf("the metadata view has %v, %v; want %q", meta, err, value)
	}
}

func TestViewsOfAllTypesShareOneWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer("prod/a")
		c := cache.New(s.Client(), nil)
		full, lean := cache.Of[corev1.ConfigMap](c, nil), cache.Of[valueOf](c, nil)
		dynamic, meta := dynamicView(c), metadataView(c)
		start(t, full)
		start(t, lean)
		start(t, dynamic)
		start(t, meta)
		wantRequests(t, s, "stream")
		wantValues(t, c, "prod/a", "first")
		s.Put(configMaps, configMap("prod/a", "second"))
		synctest.Wait()
		wantValues(t, c, "prod/a", "second")
		wantRequests(t, s)
	})
}

func TestLeanViewHoldsOnlyTheFieldsOfItsType(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		obj := configMap("prod/a", "first")
		obj.Data["other"] = "not declared"
		s.Put(configMaps, obj)
		lean, tiny := cache.Of[valueOf](cache.New(s.Client(), nil), nil), cache.Of[leanConfigMap](cache.New(s.Client(), nil), nil)
		start(t, lean)
		start(t, tiny)
		packed := lean.State(ref("prod/a")).Packed()
		if !bytes.Contains(packed.Bytes(), []byte(`"data":{"value":"first"}`)) || bytes.Contains(packed.Bytes(), []byte("not declared")) {
			t.Errorf("the view holds %s, want data.value only", packed.Bytes())
		}
		if packed = tiny.State(ref("prod/a")).Packed(); bytes.Contains(packed.Bytes(), []byte(`,"data"`)) {
			t.Errorf("the view holds %s, want only the metadata", packed.Bytes())
		}
	})
}

// pulled is a subscription whose changes the test takes one at a time.
func pulled[K any](t *testing.T, v *cache.View[K]) (next func() (reflector.Change, error, bool)) {
	t.Helper()
	next, stop := iter.Pull2(v.Subscribe(t.Context()))
	t.Cleanup(stop)
	return next
}

func TestViewThatNeedsMoreReplacesTheWatchWithoutChangesForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer("prod/a", "prod/b")
		c := cache.New(s.Client(), nil)
		meta := metadataView(c)
		start(t, meta)
		next := pulled(t, meta)
		for range 3 { // two objects and the bookmark
			if _, err, ok := next(); err != nil || !ok {
				t.Fatal(err)
			}
		}

		for _, more := range []func() (run func(), get func() error){
			func() (func(), func() error) {
				v := cache.Of[corev1.ConfigMap](c, nil)
				return func() { start(t, v) }, func() error { _, err := v.Store().Get(ref("prod/a")); return err }
			},
			func() (func(), func() error) {
				v := dynamicView(c)
				return func() { start(t, v) }, func() error { _, err := v.Store().Get(ref("prod/a")); return err }
			},
		} {
			accept := make(chan struct{}) // the new watch begins when the view is created
			s.Kind(configMaps).Behave(fakesource.Behaviour{OnWatch: func(*request.WatchOptions) error {
				<-accept
				return nil
			}})
			run, get := more()
			if err := get(); !errors.Is(err, reflector.ErrNotReady) {
				t.Errorf("Get() of the new view = %v before the objects have its form", err)
			}
			if obj, err := meta.Store().Get(ref("prod/a")); err != nil || obj.Labels["value"] != "first" {
				t.Errorf("Get() of the old view = %v, %v", obj, err)
			}
			close(accept)
			run()
			if err := get(); err != nil {
				t.Error(err)
			}
		}
		wantValues(t, c, "prod/a", "first")
		wantRequests(t, s, "stream", "stream", "stream")
		if n := s.Kind(configMaps).Open(); n != 1 {
			t.Errorf("%d watches are open, want 1", n)
		}
		s.Put(configMaps, configMap("prod/b", "second"))
		if change, err, _ := next(); err != nil || change.Ref != ref("prod/b") || change.Type != core.Modified {
			t.Errorf("the subscriber received %v, %v; want only the change of prod/b", change, err)
		}
	})
}

func TestViewThatNeedsMoreIsReadyWhenTheObjectsHaveItsForm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer("prod/a")
		c := cache.New(s.Client(), nil)
		start(t, cache.Of[corev1.ConfigMap](c, nil))
		slow := make(chan struct{})
		s.Kind(configMaps).Behave(fakesource.Behaviour{OnWatch: func(*request.WatchOptions) error {
			<-slow
			return nil
		}})
		lean := cache.Of[valueOf](c, nil)
		if err := lean.Ready(stopped()); err == nil {
			t.Error("the view is ready before the new list")
		}
		next := make(chan reflector.Change)
		go func() {
			for change, err := range lean.Subscribe(t.Context()) {
				if err != nil {
					return
				}
				next <- change
			}
		}()
		start(t, lean)
		select {
		case change := <-next:
			t.Errorf("the subscriber received %v in the old form", change)
		default:
		}
		close(slow)
		if change := <-next; change.New.Packed().Encoding() != wire.JSON || change.Type != core.Added {
			t.Errorf("the subscriber received %v", change)
		}
		<-next
		if err := lean.Ready(t.Context()); err != nil {
			t.Error(err)
		}
		if obj, err := lean.Store().Get(ref("prod/a")); err != nil || obj.Data.Value != "first" {
			t.Errorf("Get() = %v, %v", obj, err)
		}
	})
}

// stopped returns a context that has ended.
func stopped() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func TestIndexOfAViewThatNeedsMoreHasOnlyWholeObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer("prod/a", "prod/b")
		empty := configMap("prod/empty", "")
		empty.Data, empty.Labels = nil, nil // the same in both forms
		s.Put(configMaps, empty)
		c := cache.New(s.Client(), nil)
		before := metadataView(c)
		start(t, before)
		answer := make(chan struct{})
		s.Kind(configMaps).Behave(fakesource.Behaviour{OnWatch: func(*request.WatchOptions) error { <-answer; return nil }})
		full := cache.Of[corev1.ConfigMap](c, nil)
		x := reflector.IndexBy(full.Store(), func(cm *corev1.ConfigMap) []string {
			if cm.Data == nil && cm.Name != "empty" {
				t.Errorf("the index has %s without its data", cm.Name)
			}
			return []string{cm.Data["value"]}
		})
		synctest.Wait()
		if err := before.Ready(t.Context()); err != nil {
			t.Error(err)
		}
		for _, err := range x.All("first") {
			if !errors.Is(err, reflector.ErrNotReady) {
				t.Errorf("before the list, the error of the index is %v", err)
			}
		}
		if x.Len("first")+x.Len("") != 0 {
			t.Errorf("before the list, the index has %d and %d objects, want none", x.Len("first"), x.Len(""))
		}
		s.Delete(configMaps, ref("prod/b"))
		close(answer)
		start(t, full)
		if x.Len("first") != 1 || x.Len("") != 1 {
			t.Errorf("after the list, the index has %d and %d objects, want 1 and 1", x.Len("first"), x.Len(""))
		}
	})
}

func TestObjectsAreDiscardedAMinuteAfterTheLastRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer("prod/a")
		v := cache.Of[corev1.ConfigMap](cache.New(s.Client(), nil), nil)
		for range 2 {
			start(t, v)()
			time.Sleep(59 * time.Second)
			wantNames(t, v, "prod/a")
			start(t, v)()
			time.Sleep(59 * time.Second)
			wantNames(t, v, "prod/a")
			time.Sleep(2 * time.Second)
			if _, err := v.Store().Get(ref("prod/a")); !errors.Is(err, reflector.ErrNotReady) || v.Store().Len() != 0 {
				t.Errorf("Get() = %v of %d objects, want none", err, v.Store().Len())
			}
		}
		start(t, v)
		wantNames(t, v, "prod/a")
	})
}

func TestObjectsAreKeptForASubscriber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer("prod/a")
		v := cache.Of[corev1.ConfigMap](cache.New(s.Client(), nil), nil)
		start(t, v)()
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			for _, err := range v.Subscribe(ctx) {
				if err != nil {
					return
				}
			}
		}()
		time.Sleep(10 * time.Minute)
		wantNames(t, v, "prod/a")
		cancel()
		time.Sleep(2 * time.Minute)
		if n := v.Store().Len(); n != 0 {
			t.Errorf("the view holds %d objects after the subscription", n)
		}
	})
}

func TestSourceProvidesTheObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		c := cache.New(nil, &cache.Options{Source: func(res core.Resource, namespace string) watcher.Source {
			asked = append(asked, res.Plural+" "+namespace)
			s := fakesource.New(res, wire.JSON)
			s.Put(configMap("prod/a", "first"))
			return s
		}})
		v := cache.Of[corev1.ConfigMap](c, &cache.Selection{Namespace: "prod"})
		start(t, v)
		wantNames(t, v, "prod/a")
		if got := strings.Join(asked, ","); got != "configmaps prod" || v.Server() != "" {
			t.Errorf("the cache has asked for %q of server %q", got, v.Server())
		}
	})
}
