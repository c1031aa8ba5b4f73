// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/kube"
)

// valuesSeen is the values of objects that runs have seen, in order.
type valuesSeen struct {
	mu     sync.Mutex // guards values
	values map[string]string
}

func (v *valuesSeen) add(name, value string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.values[name] = strings.TrimSpace(v.values[name] + " " + value)
}

// set keeps only the last value.
func (v *valuesSeen) set(name, value string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.values[name] = value
}

func (v *valuesSeen) of(name string) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.values[name]
}

// TestIgnoredOwnWritesCauseNoRun checks that runs that write their object, create another one and delete a third one
// are not repeated, and that a change by somebody else between these writes causes a run. Unlike for most kinds, the
// response to the delete of a Service is the object.
func TestIgnoredOwnWritesCauseNoRun(t *testing.T) {
	t.Parallel()
	const objects, label = 20, "own-writes-test"
	c := connect(t, nil)
	ns := newNamespace(t, c)
	secrets, maps := kube.Namespaced[corev1.Secret](c, ns), kube.Namespaced[corev1.ConfigMap](c, ns)
	services := kube.Namespaced[corev1.Service](c, ns)
	cache := newCache(t, c)
	runs := valuesSeen{values: make(map[string]string)}
	reconcile := func(ctx context.Context, s *corev1.Secret) (kube.Action, error) {
		value := string(s.Data["v"])
		runs.add(s.Name, value)
		if value != "1" {
			return kube.AwaitChange(), nil
		}
		owner, err := kube.ControllerRef(s)
		if err != nil {
			return kube.Action{}, err
		}
		for _, name := range []string{s.Name, s.Name + "-short-lived"} { // an error causes a retry, which fails again
			meta := metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{owner}}
			if _, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: meta}, nil); err != nil {
				return kube.Action{}, err
			}
		}
		service := &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: s.Name, OwnerReferences: []metav1.OwnerReference{owner}},
			Spec:       corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone},
		}
		if _, err := services.Create(ctx, service, nil); err != nil {
			return kube.Action{}, err
		}
		if s.Name == "disturbed" {
			disturb := kube.MergePatch([]byte(`{"data":{"v":"Mg=="}}`)) // 2
			other := connect(t, nil)
			if _, err := kube.Namespaced[corev1.Secret](other, ns).Patch(context.Background(), s.Name, disturb, nil); err != nil {
				return kube.Action{}, err
			}
		}
		for i := range 3 { // with the version that the first step reads
			_, err := secrets.Modify(ctx, s.Name, func(s *corev1.Secret) error {
				s.Annotations = map[string]string{label: fmt.Sprint(i)}
				return nil
			}, nil)
			if err != nil {
				return kube.Action{}, err
			}
		}
		err = errors.Join(maps.Delete(ctx, s.Name+"-short-lived", nil), services.Delete(ctx, s.Name, nil))
		return kube.AwaitChange(), err
	}
	here := &kube.Selection{Namespace: ns}
	ctl := kube.NewController(kube.ForView(kube.ViewOf[corev1.Secret](cache, here)), &kube.ControllerOptions{
		Logger: debugLogger(t), IgnoreOwnWrites: true, HoldTimeout: time.Hour,
	}).Owns(kube.SourceView(kube.ViewOf[corev1.ConfigMap](cache, here))).
		Owns(kube.SourceView(kube.ViewOf[corev1.Service](cache, here)))
	background(t, func(ctx context.Context) error { return ctl.Run(ctx, reconcile) })
	want := map[string]string{"disturbed": "1 2"}
	for i := range objects {
		want[fmt.Sprint("secret-", i)] = "1"
	}
	for name := range want {
		meta := metav1.ObjectMeta{Name: name}
		if _, err := secrets.Create(limit(t), &corev1.Secret{ObjectMeta: meta, StringData: map[string]string{"v": "1"}}, nil); err != nil {
			t.Fatal(err)
		}
	}
	// The objects run again after a last change, whose run follows those of all earlier events.
	for name, values := range want {
		eventually(t, "the first runs are over", func(ctx context.Context) error {
			s, err := secrets.Get(ctx, name, nil)
			if err == nil && s.Annotations[label] != "2" {
				err = fmt.Errorf("%s has the annotations %v", name, s.Annotations)
			}
			if got := runs.of(name); err == nil && got != values { // a later run would see the last change instead
				err = fmt.Errorf("the runs of %s saw %s, want %s", name, got, values)
			}
			return err
		})
		last := kube.MergePatch([]byte(`{"data":{"v":"bGFzdA=="}}`))
		if _, err := secrets.Patch(limit(t), name, last, nil); err != nil {
			t.Fatal(err)
		}
	}
	for name, values := range want {
		eventually(t, "the last change causes a run", func(context.Context) error {
			if got, want := runs.of(name), values+" last"; got != want {
				return fmt.Errorf("the runs of %s saw %s, want %s", name, got, want)
			}
			return nil
		})
	}
}
