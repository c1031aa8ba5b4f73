// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"bytes"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/internal/fakesource"
	"github.com/kube-go/sdk/runtime/reflector"
)

// plain is a type without a known kind.
type plain struct {
	metav1.TypeMeta
	metav1.ObjectMeta
}

// views makes a view of a cache.
type views func(*cache.Cache) *cache.View[corev1.ConfigMap]

// share reports whether two views of a cache have one watch: they see the same objects while only the first runs.
func share(t *testing.T, a, b views) (same bool) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := cache.New(newServer("prod/a").Client(), nil)
		other := b(c)
		start(t, a(c))()
		same = other.Store().ResourceVersion() != ""
	})
	return same
}

func TestEqualSelectionsShareAWatch(t *testing.T) {
	of := func(s *cache.Selection) views {
		return func(c *cache.Cache) *cache.View[corev1.ConfigMap] { return cache.Of[corev1.ConfigMap](c, s) }
	}
	ofResource := func(res core.Resource) views {
		return func(c *cache.Cache) *cache.View[corev1.ConfigMap] {
			return cache.OfResource[corev1.ConfigMap](c, res, nil)
		}
	}
	another := func(*cache.Cache) *cache.View[corev1.ConfigMap] {
		return cache.Of[corev1.ConfigMap](cache.New(newServer().Client(), nil), nil)
	}
	all, none := of(nil), core.Resource{Version: "v1", Kind: "ConfigMap", Plural: "configmaps", Namespaced: true}
	version := none
	version.Version = "v2"
	for _, tt := range []struct {
		name string
		a, b views
		same bool
	}{
		{"the same", all, all, true},
		{"a selection of everything", all, of(&cache.Selection{}), true},
		{"the same resource explicitly", all, ofResource(configMaps), true},
		{"an equivalent resource with fewer fields", all, ofResource(none), true},
		{
			"terms in another order",
			of(&cache.Selection{
				LabelSelector: "app in (a,b),tier!=x", FieldSelector: `metadata.name!=a\,b,metadata.namespace=prod`,
			}),
			of(&cache.Selection{
				LabelSelector: " tier != x, app in (b, a)", FieldSelector: `metadata.namespace==prod,metadata.name!=a\,b`,
			}), true,
		},
		{"a namespace", all, of(&cache.Selection{Namespace: "prod"}), false},
		{"labels", all, of(&cache.Selection{LabelSelector: "a=b"}), false},
		{"fields", all, of(&cache.Selection{FieldSelector: "a=b"}), false},
		{"another version", all, ofResource(version), false},
		{"another cache", all, another, false},
		{"another resource", all, ofResource(nodes), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := share(t, tt.a, tt.b); got != tt.same {
				t.Errorf("they share a watch: %v, want %v", got, tt.same)
			}
		})
	}
}

func TestSelectionsAreSentToTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer("prod/a", "test/a")
		s.Put(configMaps, configMap("prod/b", "second"))
		c := cache.New(s.Client(), nil)
		v := cache.Of[corev1.ConfigMap](c, &cache.Selection{Namespace: "prod", LabelSelector: "value in (first, third)"})
		start(t, v)
		wantNames(t, v, "prod/a")
		s.Put(configMaps, configMap("prod/b", "third"))
		s.Put(configMaps, configMap("prod/a", "second"))
		synctest.Wait()
		wantNames(t, v, "prod/b")
	})
}

// subscribe returns the error that ends a subscription, which must be its only pair.
func subscribe[K any](t *testing.T, v *cache.View[K]) (end error) {
	t.Helper()
	pairs := 0
	for _, err := range v.Subscribe(t.Context()) {
		pairs++
		end = err
	}
	if pairs != 1 {
		t.Errorf("Subscribe() has yielded %d pairs, want 1", pairs)
	}
	return end
}

// failures returns the errors of the methods of a view that can't work.
func failures[K any](t *testing.T, v *cache.View[K]) map[string]error {
	t.Helper()
	store := v.Store()
	return map[string]error{
		"Run":                  v.Run(t.Context()),
		"Health":               v.Health(),
		"Ready":                v.Ready(t.Context()),
		"Subscribe":            subscribe(t, v),
		"Follow":               v.Follow(t.Context(), func(reflector.Change) {}),
		"WaitFor":              v.WaitFor(t.Context(), configMap("prod/a", "first")),
		"Store.Ready":          store.Ready(t.Context()),
		"Store.WaitForVersion": store.WaitForVersion(t.Context(), "1"),
	}
}

func TestInvalidViewsFailImmediately(t *testing.T) {
	s := newServer()
	c := cache.New(s.Client(), nil)
	broken := configMaps
	broken.Kind = ""
	tests := []struct {
		name string
		errs map[string]error
		want string
	}{
		{"a type without a known kind", failures(t, cache.Of[plain](c, nil)), "not a known kind"},
		{"an incomplete resource", failures(t, cache.OfResource[corev1.ConfigMap](c, broken, nil)), "Kind is empty"},
		{"rows of tables", failures(t, cache.OfResource[core.Row](c, configMaps, nil)), "pass API.Rows of the client to watcher.Watch"},
		{"an invalid label selector", failures(t, cache.Of[corev1.ConfigMap](c, &cache.Selection{LabelSelector: "a in"})), `label selector "a in"`},
		{"a namespace of a cluster-scoped kind", failures(t, cache.Of[corev1.Node](c, &cache.Selection{Namespace: "prod"})), `"prod" was selected, but nodes are cluster-scoped`},
		{"an invalid field selector", failures(t, cache.Of[corev1.ConfigMap](c, &cache.Selection{FieldSelector: "a"})), `field selector "a"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for what, err := range tt.errs {
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("%s() = %v, want %q", what, err, tt.want)
				}
			}
		})
	}
	invalid := cache.Of[corev1.ConfigMap](c, &cache.Selection{LabelSelector: "a in"})
	_, err := invalid.Store().Get(core.ObjectRef{Namespace: "prod", Name: "a"})
	if !errors.Is(err, reflector.ErrNotReady) || !strings.Contains(err.Error(), `label selector "a in"`) {
		t.Errorf("Get() = %v, want ErrNotReady and the reason", err)
	}
	if _, ok := errors.AsType[*core.UnknownKindError](cache.Of[plain](c, nil).Run(t.Context())); !ok {
		t.Error("the error of an unknown kind is not an UnknownKindError")
	}
	view := cache.Of[corev1.Node](c, &cache.Selection{Namespace: "prod"})
	if _, ok := errors.AsType[*request.InvalidError](view.Run(t.Context())); !ok {
		t.Error("a namespace for a cluster-scoped kind is not an InvalidError")
	}
	if v := cache.OfResource[corev1.ConfigMap](c, configMaps, nil); v.Health() != nil {
		t.Error("an invalid view affects a valid one")
	}
	wantRequests(t, s)
}

func TestErrorsAreLoggedAndReturnedByHealthUntilRecovery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer("prod/a")
		no := fakesource.Status(403, metav1.StatusReasonForbidden)
		s.Kind(configMaps).Behave(fakesource.Behaviour{
			OnList:  func(*request.ListOptions) error { return no },
			OnWatch: func(*request.WatchOptions) error { return no },
		})
		var log bytes.Buffer
		v := cache.Of[corev1.ConfigMap](cache.New(s.Client(), &cache.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}), nil)
		start(t, v)
		if err := v.Health(); !errors.Is(err, core.ErrForbidden) {
			t.Errorf("Health() = %v, want the error", err)
		}
		if line := log.String(); !strings.Contains(line, "level=WARN") || !strings.Contains(line, "watch configmaps") {
			t.Errorf("the log is %q, want the error and the kind", line)
		}
		s.Kind(configMaps).Behave(fakesource.Behaviour{})
		<-time.After(2 * time.Minute)
		synctest.Wait()
		if err := v.Health(); err != nil {
			t.Errorf("Health() = %v after recovery", err)
		}
		if n := strings.Count(log.String(), `level=INFO msg="watch recovered" resource=configmaps`); n != 1 {
			t.Errorf("the log has %d lines about the recovery, want 1:\n%s", n, &log)
		}
		wantNames(t, v, "prod/a")
		if asked := s.Kind(configMaps).Requests(); !slices.Contains(asked, "stream") {
			t.Errorf("the server received %q", asked)
		}
	})
}
