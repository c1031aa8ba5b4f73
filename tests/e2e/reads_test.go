// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/kube"
)

// labelledView returns a view of the ConfigMaps with the label read=yes.
func labelledView(cache *kube.Cache, ns string) *kube.View[corev1.ConfigMap] {
	return kube.ViewOf[corev1.ConfigMap](cache, &kube.Selection{Namespace: ns, LabelSelector: "read=yes"})
}

// createLabelled creates a ConfigMap with the label read=yes.
func createLabelled(t *testing.T, maps *kube.API[corev1.ConfigMap], name string) *corev1.ConfigMap {
	t.Helper()
	cm := configMap(name, "1")
	cm.Labels = map[string]string{"read": "yes"}
	cm, err := maps.Create(limit(t), cm, nil)
	if err != nil {
		t.Fatal(err)
	}
	return cm
}

// putSecret creates a Secret, or sets its value.
func putSecret(ctx context.Context, secrets *kube.API[corev1.Secret], value string, owner *corev1.ConfigMap) error {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "settings", Namespace: secrets.Namespace()},
		Data:       map[string][]byte{"v": []byte(value)},
	}
	if owner != nil {
		if err := core.SetController(secret, owner); err != nil {
			return err
		}
	}
	_, err := secrets.Apply(ctx, secret, &kube.ApplyOptions{FieldManager: "e2e", Force: true})
	return err
}

// TestReadObjectsAreSyncedAndCauseNoRuns checks that no run begins before the objects that it only reads are synced,
// and that their changes cause no runs, even if the reconciled object owns them.
func TestReadObjectsAreSyncedAndCauseNoRuns(t *testing.T) {
	t.Parallel()
	admin := connect(t, nil)
	ns := newNamespace(t, admin)
	maps, secrets := kube.Namespaced[corev1.ConfigMap](admin, ns), kube.Namespaced[corev1.Secret](admin, ns)
	owner := createLabelled(t, maps, "work")
	if err := putSecret(limit(t), secrets, "1", owner); err != nil {
		t.Fatal(err)
	}
	allowed := make(chan struct{}) // closed when the secrets may be listed
	c := connect(t, &kube.ClientOptions{Middleware: []kube.Middleware{func(next http.RoundTripper) http.RoundTripper {
		return middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, "/secrets") {
				select {
				case <-allowed:
				case <-r.Context().Done():
					return nil, context.Cause(r.Context())
				}
			}
			return next.RoundTrip(r)
		})
	}}})
	cache := newCache(t, c)
	work := labelledView(cache, ns)
	settings := kube.ViewOf[corev1.Secret](cache, &kube.Selection{Namespace: ns})
	read := func() (string, error) {
		secret, err := settings.Store().Get(kube.ObjectRef{Namespace: ns, Name: "settings"})
		if err != nil {
			return "", err
		}
		return string(secret.Data["v"]), nil
	}
	options := &kube.ControllerOptions{Concurrency: 1, SyncTimeout: time.Hour, Logger: debugLogger(t)}
	ctl := kube.NewController(kube.ForView(work), options).Reads(kube.SourceView(settings))
	runs := make(chan string, 100)
	background(t, func(ctx context.Context) error {
		return ctl.Run(ctx, func(_ context.Context, cm *corev1.ConfigMap) (kube.Action, error) {
			value, err := read()
			runs <- fmt.Sprint(cm.Name, " reads ", value)
			return kube.AwaitChange(), err
		})
	})
	next := func(want string) {
		t.Helper()
		select {
		case got := <-runs:
			if got != want {
				t.Errorf("the run %q, want %q", got, want)
			}
		case <-limit(t).Done():
			t.Fatalf("the run %q has not begun", want)
		}
	}
	if err := work.Ready(limit(t)); err != nil {
		t.Fatal(err)
	}
	select {
	case run := <-runs:
		t.Errorf("the run %q begins before the secrets are synced", run)
	case <-time.After(200 * time.Millisecond): // nothing must happen
	}
	close(allowed)
	next("work reads 1")

	set := func(value string) {
		t.Helper()
		if err := putSecret(limit(t), secrets, value, owner); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the secret is observed", func(context.Context) error {
			if got, err := read(); got != value {
				return fmt.Errorf("its value is %q, %w", got, err)
			}
			return nil
		})
	}
	// A run because of the secret would begin before that of an object that changes later.
	set("2")
	createLabelled(t, maps, "later")
	next("later reads 2")
	set("3")
	setTo(t, maps, "work", "2")
	next("work reads 3")
	if err := secrets.Delete(limit(t), "settings", nil); err != nil {
		t.Fatal(err)
	}
	set("4")
	setTo(t, maps, "later", "2")
	next("later reads 4")
	if h := ctl.Health(); len(h) != 2 || !h[1].Ready || h[1].Resource.Plural != "secrets" {
		t.Errorf("Health = %+v, want two sources that are ready", h)
	}
}

// delayed is a body that returns what it has read a while later.
type delayed struct{ io.ReadCloser }

func (d delayed) Read(p []byte) (int, error) {
	n, err := d.ReadCloser.Read(p)
	<-time.After(100 * time.Millisecond)
	return n, err
}

// TestRunsSeeTheirWritesOfReadObjects checks that a run sees what the previous run has written to an object that it
// only reads, although the watch delivers each change some time after the write.
func TestRunsSeeTheirWritesOfReadObjects(t *testing.T) {
	t.Parallel()
	c := connect(t, &kube.ClientOptions{Middleware: []kube.Middleware{func(next http.RoundTripper) http.RoundTripper {
		return middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
			resp, err := next.RoundTrip(r)
			if err == nil && r.URL.Query().Has("watch") && strings.HasSuffix(r.URL.Path, "/secrets") {
				resp.Body = delayed{resp.Body}
			}
			return resp, err
		})
	}}})
	ns := newNamespace(t, c)
	secrets := kube.Namespaced[corev1.Secret](c, ns)
	if err := putSecret(limit(t), secrets, "0", nil); err != nil {
		t.Fatal(err)
	}
	cache := newCache(t, c)
	settings := kube.ViewOf[corev1.Secret](cache, &kube.Selection{Namespace: ns})
	options := &kube.ControllerOptions{Concurrency: 1, HoldTimeout: time.Hour, Logger: debugLogger(t)}
	ctl := kube.NewController(kube.ForView(labelledView(cache, ns)), options).Reads(kube.SourceView(settings))
	const last = 5
	read, written := make(chan int, 100), 0
	background(t, func(ctx context.Context) error {
		return ctl.Run(ctx, func(ctx context.Context, _ *corev1.ConfigMap) (kube.Action, error) {
			secret, err := settings.Store().Get(kube.ObjectRef{Namespace: ns, Name: "settings"})
			if err != nil {
				return kube.Action{}, err
			}
			n, err := strconv.Atoi(string(secret.Data["v"]))
			if err != nil || written == last {
				return kube.AwaitChange(), err
			}
			read <- n
			written++
			return kube.RequeueAfter(time.Millisecond), putSecret(ctx, secrets, strconv.Itoa(written), nil)
		})
	})
	createLabelled(t, kube.Namespaced[corev1.ConfigMap](c, ns), "work")
	for ctx, want := limit(t), 0; want < last; want++ {
		select {
		case got := <-read:
			if got != want {
				t.Errorf("a run reads %d, the previous run has written %d", got, want)
			}
		case <-ctx.Done():
			t.Fatalf("no run follows the write of %d", want)
		}
	}
}
