// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/kube"
)

// TestControllerMissesNothing promises that what a run has written comes back when somebody removes it, even if no watch
// has ever told of it: it was written and removed while the watch was broken, and the server has forgotten when it is
// taken up again.
func TestControllerMissesNothing(t *testing.T) {
	admin := connect(t, nil)
	ns := newNamespace(t, admin)
	watches := blindfold{path: "/secrets"}
	c := connect(t, &kube.ClientOptions{Middleware: []kube.Middleware{watches.layer}})
	cache := kube.NewCache(c, nil)
	maps := kube.ViewOf[corev1.ConfigMap](cache, &kube.Selection{Namespace: ns, LabelSelector: "wanted"})
	secrets := kube.ViewOf[corev1.Secret](cache, &kube.Selection{Namespace: ns})
	api := kube.Namespaced[corev1.Secret](c, ns)
	ctl := kube.NewController(kube.ForView(maps), nil).Owns(kube.SourceView(secrets))
	background(t, func(ctx context.Context) error {
		return ctl.Run(ctx, func(ctx context.Context, cm *corev1.ConfigMap) (kube.Action, error) {
			owner, err := kube.ControllerRef(cm, maps.Resource())
			if err != nil {
				return kube.Action{}, err
			}
			_, err = api.Apply(ctx, &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Name: cm.Name, OwnerReferences: []metav1.OwnerReference{owner}},
			}, &kube.ApplyOptions{FieldManager: "e2e", Force: true})
			return kube.AwaitChange(), err
		})
	})
	want := func(name string) *corev1.Secret {
		t.Helper()
		cm := configMap(name, "1")
		cm.Labels = map[string]string{"wanted": ""}
		if _, err := kube.Namespaced[corev1.ConfigMap](admin, ns).Create(limit(t), cm, nil); err != nil {
			t.Fatal(err)
		}
		secret, err := kube.Await(limit(t), kube.Namespaced[corev1.Secret](admin, ns), name, kube.Exists[corev1.Secret](), nil)
		if err != nil {
			t.Fatal(err)
		}
		return secret
	}
	want("first")
	watches.on()
	undone := want("second")
	if err := kube.Namespaced[corev1.Secret](admin, ns).Delete(limit(t), "second", nil); err != nil {
		t.Fatal(err)
	}
	watches.off()
	again, err := kube.Await(limit(t), kube.Namespaced[corev1.Secret](admin, ns), "second", kube.Exists[corev1.Secret](), nil)
	if err != nil {
		t.Fatal(err)
	}
	if again.UID == undone.UID {
		t.Error("it was never removed")
	}
}

// blindfold is a layer that breaks the watches of a path while it is on. Those who have seen something before are told
// afterwards that their version has expired.
type blindfold struct {
	path string

	mu      sync.Mutex // guards what follows
	isOn    bool
	expired bool
	bodies  []io.Closer
}

func (b *blindfold) on() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.isOn = true
	for _, body := range b.bodies {
		body.Close()
	}
}

func (b *blindfold) off() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.isOn, b.expired = false, true
}

func (b *blindfold) layer(next http.RoundTripper) http.RoundTripper {
	return middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
		q := r.URL.Query()
		if q.Get("watch") == "" || !strings.HasSuffix(r.URL.Path, b.path) {
			return next.RoundTrip(r)
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		switch {
		case b.isOn:
			return nil, errors.Join(errors.New("blindfolded"), io.ErrUnexpectedEOF)
		case b.expired && q.Get("resourceVersion") != "":
			b.expired = false
			return &http.Response{StatusCode: http.StatusGone, Header: http.Header{}, Body: http.NoBody}, nil
		}
		resp, err := next.RoundTrip(r)
		if err == nil {
			b.bodies = append(b.bodies, resp.Body)
		}
		return resp, err
	})
}
