// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/contrib/zstd"
	"github.com/kube-go/sdk/kube"
)

// values is a ConfigMap without some of its fields, which a cache of only this type does not hold.
type values struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Data              map[string]string `json:"data"`
}

func (*values) KubeResource() kube.Resource {
	return kube.Resource{Version: "v1", Kind: "ConfigMap", Plural: "configmaps", Namespaced: true}
}

// subject is what the tests examine: views in three encodings with their subscribers, an index, a watch without a
// store, and a controller. All of them use one client and one cache. Another cache, with compressed objects, has a view
// of a type with few fields.
type subject struct {
	*testbed
	faults interference
	client *kube.Client
	log    tail

	maps    *replica[corev1.ConfigMap, *corev1.ConfigMap]                         // protobuf
	secrets *replica[metav1.PartialObjectMetadata, *metav1.PartialObjectMetadata] // metadata
	widgets *replica[unstructured.Unstructured, *unstructured.Unstructured]       // JSON
	values  *replica[values, *values]                                             // JSON, compressed
	byDigit *kube.Index[corev1.ConfigMap, string]                                 // the maps by the end of their value
	watched guarded[map[string]string]                                            // the names and versions of the maps
	expired atomic.Int64                                                          // how often the watch received a 410
	ctl     *kube.Controller[unstructured.Unstructured]                           // nil if the subject has none

	controlledMaps    *kube.API[corev1.ConfigMap] // the APIs that the controller uses
	controlledWidgets *kube.API[unstructured.Unstructured]

	stops []func() error
	began usage // before the first fault
}

// newSubject starts a subject without a controller. Its client uses the configuration.
func (s *testbed) newSubject(t *testing.T, cfg *kube.Config) *subject {
	t.Helper()
	sub := &subject{testbed: s}
	logger := slog.New(slog.NewTextHandler(&sub.log, nil))
	sub.client = s.newClient(t, &kube.ClientOptions{
		Config: cfg, Logger: logger, PerAttempt: []kube.Middleware{sub.faults.layer},
	})
	cache := kube.NewCache(sub.client, &kube.CacheOptions{Logger: logger})
	all := &kube.Selection{Namespace: s.ns}
	run := func(f func(context.Context) error) { sub.stops = append(sub.stops, background(t, f)) }
	sub.maps = replicate(t, run, s.maps, kube.ViewOf[corev1.ConfigMap](cache, all))
	sub.secrets = replicate(t, run, s.secrets.Metadata(),
		kube.ViewOfResource[metav1.PartialObjectMetadata](cache, secretResource, all))
	sub.widgets = replicate(t, run, s.widgets,
		kube.ViewOfResource[unstructured.Unstructured](cache, s.widgets.Resource(), all))
	compressed := kube.NewCache(sub.client, &kube.CacheOptions{Logger: logger, Compression: zstd.New})
	sub.values = replicate(t, run, kube.Namespaced[values](s.direct, s.ns), kube.ViewOf[values](compressed, all))
	sub.byDigit = kube.IndexBy(sub.maps.view, digits)
	sub.controlledMaps = kube.Namespaced[corev1.ConfigMap](sub.client, s.ns)
	sub.controlledWidgets = kube.Dynamic(sub.client, s.widgets.Resource()).In(s.ns)
	run(sub.watch)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%v; before the faults: %v; the end of the log:\n%s", currentUsage(t), sub.began, &sub.log)
		}
	})
	return sub
}

// digits returns the last digit of the value of a ConfigMap.
func digits(cm *corev1.ConfigMap) []string {
	v := cm.Data["v"]
	return []string{v[max(0, len(v)-1):]}
}

// watch keeps the versions of the config maps with a watch that has no store.
func (s *subject) watch(ctx context.Context) error {
	s.watched.set(map[string]string{})
	options := kube.WatchOptions{OnError: func(err error) {
		if errors.Is(err, kube.ErrExpired) {
			s.expired.Add(1)
		}
	}}
	for ev, err := range kube.Watch(ctx, s.controlledMaps, &options) {
		if err != nil {
			return err
		}
		if ev.Type == kube.Bookmark {
			continue
		}
		name, known := ev.Object.Name, maps.Clone(s.watched.get())
		before, exists := known[name]
		if exists != (ev.Type != kube.Added) {
			return fmt.Errorf("received %s of %s; known before: %t", ev.Type, name, exists)
		}
		known[name] = ev.Object.ResourceVersion
		if ev.Type == kube.Deleted {
			delete(known, name)
		}
		if ev.Type == kube.Modified && version(known[name]) <= version(before) {
			return fmt.Errorf("%s goes from version %s back to %s", name, before, known[name])
		}
		s.watched.set(known)
	}
	return errors.New("the watch has ended without an error")
}

// control starts a controller that keeps one ConfigMap for each widget, with the size of the widget and the version of
// the secret of the same name. So it must act on the changes of three kinds.
func (s *subject) control(t *testing.T) {
	t.Helper()
	bySecret := func(_ context.Context, m *metav1.PartialObjectMetadata) ([]kube.ObjectRef, error) {
		return []kube.ObjectRef{kube.RefOf(m)}, nil
	}
	s.ctl = kube.NewController(kube.ForView(s.widgets.view), &kube.ControllerOptions{
		SyncTimeout: 100 * time.Millisecond, // one source may be forbidden
		Logger:      slog.New(slog.NewTextHandler(&s.log, nil)),
	}).Owns(kube.SourceView(s.maps.view)).Watches(kube.SourceView(s.secrets.view).Map(bySecret))
	s.stops = append(s.stops, background(t, func(ctx context.Context) error { return s.ctl.Run(ctx, s.reconcile) }))
}

const childPrefix = "child-"

func (s *subject) reconcile(ctx context.Context, widget *unstructured.Unstructured) (kube.Action, error) {
	ref := kube.ObjectRef{Namespace: s.ns, Name: childPrefix + widget.GetName()}
	return kube.Finalize(ctx, s.controlledWidgets, "faults.e2e.example.com/child", widget,
		kube.FinalizerFuncs[unstructured.Unstructured]{
			Apply: func(ctx context.Context, widget *unstructured.Unstructured) (kube.Action, error) {
				secret, err := s.secrets.view.Store().Get(kube.RefOf(widget))
				if err != nil && !errors.Is(err, kube.ErrNotFound) && !errors.Is(err, kube.ErrNotReady) {
					return kube.Action{}, err
				}
				child, err := childOf(widget, secret)
				if err != nil {
					return kube.Action{}, err
				}
				existing, err := s.maps.view.Store().Get(ref)
				if err == nil && maps.Equal(existing.Data, child.Data) && metav1.IsControlledBy(existing, widget) {
					return kube.AwaitChange(), nil
				}
				_, err = s.controlledMaps.Apply(ctx, child, &kube.ApplyOptions{FieldManager: "faults", Force: true})
				return kube.AwaitChange(), err
			},
			Cleanup: func(ctx context.Context, _ *unstructured.Unstructured) (kube.Action, error) {
				err := s.controlledMaps.Delete(ctx, ref.Name, nil)
				if errors.Is(err, kube.ErrNotFound) {
					err = nil
				}
				return kube.AwaitChange(), err
			},
		})
}

// childOf returns the ConfigMap that the controller wants for a widget and a secret, which may be nil.
func childOf(widget *unstructured.Unstructured, secret *metav1.PartialObjectMetadata) (*corev1.ConfigMap, error) {
	size, _, err := unstructured.NestedInt64(widget.Object, "spec", "size")
	if err != nil {
		return nil, err
	}
	child := configMap(childPrefix+widget.GetName(), strconv.FormatInt(size, 10))
	child.Namespace = widget.GetNamespace()
	if secret != nil {
		child.Data["secret"] = secret.ResourceVersion
	}
	return child, kube.SetController(child, widget)
}

// ready waits until the views are synced, and remembers the usage.
func (s *subject) ready(t *testing.T) {
	t.Helper()
	for _, ready := range []func(context.Context) error{
		s.maps.view.Ready, s.secrets.view.Ready, s.widgets.view.Ready, s.values.view.Ready,
	} {
		if err := ready(limit(t)); err != nil {
			t.Fatal(err)
		}
	}
	s.began = currentUsage(t)
}

// check returns an error unless everything has the state of the server and nothing is left to do.
func (s *subject) check(ctx context.Context) error {
	for _, check := range []func(context.Context) error{
		s.maps.check, s.secrets.check, s.widgets.check, s.values.check, s.checkIndex, s.checkWatched, s.checkController,
	} {
		if err := check(ctx); err != nil {
			return err
		}
	}
	return errors.Join(s.maps.view.Health(), s.secrets.view.Health(), s.widgets.view.Health(), s.values.view.Health())
}

func (s *subject) checkIndex(ctx context.Context) error {
	list, err := s.testbed.maps.List(ctx, nil)
	if err != nil {
		return err
	}
	want, got := map[string]string{}, map[string]string{}
	for _, cm := range list.Items {
		want[cm.Name] = digits(cm)[0]
	}
	for _, digit := range append(strings.Split("0123456789", ""), "", "d") { // d is the end of disturbed
		for cm, err := range s.byDigit.All(digit) {
			if err != nil {
				return err
			}
			got[cm.Name] += digit
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		return fmt.Errorf("index (-server +index):\n%.3000s", diff)
	}
	return nil
}

func (s *subject) checkWatched(ctx context.Context) error {
	list, err := s.testbed.maps.List(ctx, nil)
	if err != nil {
		return err
	}
	want := map[string]string{}
	for _, cm := range list.Items {
		want[cm.Name] = cm.ResourceVersion
	}
	if diff := cmp.Diff(want, s.watched.get()); diff != "" {
		return fmt.Errorf("versions (-server +watch):\n%.3000s", diff)
	}
	return nil
}

// checkController returns an error unless each widget has its child, no other children exist, and
// the controller has no work.
func (s *subject) checkController(ctx context.Context) error {
	if s.ctl == nil {
		return nil
	}
	stats, calls := s.ctl.Metrics(), s.ctl.Runs() // Runs has the calls of Map, too
	if a := stats.Applier; a.Ready+a.Running+a.Held+a.Delayed+stats.Mapping+len(calls) > 0 {
		return fmt.Errorf("the controller has work: %+v, %+v", stats, calls)
	}
	widgets, err := s.testbed.widgets.List(ctx, nil)
	if err != nil {
		return err
	}
	configMaps, err := s.testbed.maps.List(ctx, nil)
	if err != nil {
		return err
	}
	secrets := map[string]*metav1.PartialObjectMetadata{}
	for secret, err := range s.testbed.secrets.Metadata().All(ctx, nil) {
		if err != nil {
			return err
		}
		secrets[secret.Name] = secret
	}
	type child struct{ size, secret, owner string }
	describe := func(cm *corev1.ConfigMap) child {
		c := child{size: cm.Data["v"], secret: cm.Data["secret"]}
		if owner := metav1.GetControllerOf(cm); owner != nil {
			c.owner = string(owner.UID)
		}
		return c
	}
	want, got := map[string]child{}, map[string]child{}
	for _, widget := range widgets.Items {
		cm, err := childOf(widget, secrets[widget.GetName()])
		if err != nil {
			return err
		}
		want[cm.Name] = describe(cm)
	}
	for _, cm := range configMaps.Items {
		if strings.HasPrefix(cm.Name, childPrefix) {
			got[cm.Name] = describe(cm)
		}
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(child{})); diff != "" {
		return fmt.Errorf("children (-want +server):\n%.3000s", diff)
	}
	return nil
}

// tail is the end of a log, for the report of a failed test.
type tail struct {
	mu   sync.Mutex // guards text
	text []byte
}

const tailBytes = 32 << 10

func (l *tail) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, p...)
	l.text = l.text[max(0, len(l.text)-tailBytes):]
	return len(p), nil
}

func (l *tail) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.text)
}
