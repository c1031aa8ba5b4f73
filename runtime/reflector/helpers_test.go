// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package reflector_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/internal/fakesource"
	"github.com/kube-go/sdk/runtime/reflector"
)

var errStop = errors.New("the test is over")

// configMap returns an object whose value identifies its state.
func configMap(ref, value string) *corev1.ConfigMap {
	r := core.ParseObjectRef(ref)
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:     r.Namespace,
			Name:          r.Name,
			Labels:        map[string]string{"value": value},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "test", Operation: "Update"}},
		},
		Data: map[string]string{"value": value},
	}
}

func newServer(t testing.TB, encoding wire.Encoding, refs ...string) *fakesource.Server {
	t.Helper()
	res, err := core.ResourceOf[corev1.ConfigMap]()
	if err != nil {
		t.Fatal(err)
	}
	s := fakesource.New(res, encoding)
	for _, ref := range refs {
		s.Put(configMap(ref, "first"))
	}
	return s
}

// reflect returns a reflector of a server, and its store.
func reflect(server *fakesource.Server) (*reflector.Reflector, *reflector.Store[corev1.ConfigMap]) {
	r := reflector.New(server, nil)
	return r, reflector.StoreOf[corev1.ConfigMap](r)
}

// run runs a reflector in the test's bubble until the test ends, and waits until it is idle.
func run(t *testing.T, server *fakesource.Server) *reflector.Store[corev1.ConfigMap] {
	t.Helper()
	r, store := reflect(server)
	runUntilEnd(t, r)
	return store
}

// runUntilEnd runs a reflector, and returns a function that stops it and returns the error of Run.
func runUntilEnd(t *testing.T, r *reflector.Reflector) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	t.Cleanup(func() { cancel(errStop) })
	synctest.Wait()
	return func() error {
		cancel(errStop)
		return <-ended
	}
}

// subscriber receives changes one at a time, when a test asks for them.
type subscriber struct {
	t      *testing.T
	next   func() (reflector.Change, error, bool)
	cancel context.CancelCauseFunc
}

func subscribe(t *testing.T, store *reflector.Store[corev1.ConfigMap]) *subscriber {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	next, stop := iter.Pull2(store.Subscribe(ctx))
	t.Cleanup(func() {
		stop()
		cancel(errStop)
	})
	return &subscriber{t, next, cancel}
}

// want checks the next changes, and that no other change is queued.
func (s *subscriber) want(changes ...string) {
	s.t.Helper()
	for _, want := range changes {
		c, err, _ := s.next()
		if err != nil {
			s.t.Fatalf("got error %v, want %s", err, want)
		}
		if got := describe(s.t, c); got != want {
			s.t.Errorf("got change %s, want %s", got, want)
		}
	}
}

// wantNothing checks that no change is queued, and ends the subscription.
func (s *subscriber) wantNothing() {
	s.t.Helper()
	go func() {
		synctest.Wait()
		s.cancel(errStop)
	}()
	if c, err, _ := s.next(); err != errStop {
		s.t.Errorf("got change %s and error %v, want the cause", describe(s.t, c), err)
	}
	if _, _, ok := s.next(); ok {
		s.t.Error("an error was not the last pair")
	}
}

// describe returns the type, and the UIDs and values of the states, such as "MODIFIED prod/a uid-1=first uid-1=second",
// with the states between them at the end.
func describe(t testing.TB, c reflector.Change) string {
	t.Helper()
	out := string(c.Type)
	if c.Initial {
		out = "initial " + out
	}
	if c.Type == core.Bookmark {
		return out
	}
	out += " " + c.Ref.String()
	text := func(s reflector.State) string {
		if !s.Exists() {
			return " -"
		}
		obj := new(corev1.ConfigMap)
		if err := s.Decode(obj); err != nil {
			t.Errorf("change of %s: %v", c.Ref, err)
		}
		if got := core.RefOf(obj); got != c.Ref {
			t.Errorf("change of %s holds %s", c.Ref, got)
		}
		return fmt.Sprintf(" %s=%s", obj.UID, obj.Data["value"])
	}
	out += text(c.Old) + text(c.New)
	if len(c.Between) > 0 {
		out += " between"
	}
	for _, s := range c.Between {
		out += text(s)
	}
	return out
}
