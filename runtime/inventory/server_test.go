// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package inventory_test

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/machine"
	"github.com/kube-go/sdk/runtime/internal/fakeapi"
	"github.com/kube-go/sdk/runtime/inventory"
)

// passes returns a function that makes one pass over the owner with one declared object after the other, and keeps the
// inventory between them.
func passes(c *client.Client) func(ctx context.Context, obj core.Object) error {
	applier, items := inventory.New(c, manager, nil), []machine.Item(nil)
	return func(ctx context.Context, obj core.Object) error {
		pass := applier.Begin(site(), items, func(_ context.Context, all []machine.Item) error {
			items = all
			return nil
		})
		_, err := pass.Apply(ctx, inventory.Declaration{Object: obj})
		items = pass.Items()
		return err
	}
}

// TestLostResponseToACreateIsNotACreationByOthers checks that the first apply of an object is not repeated by the
// client: the object may already have fields of others, such as a status. The next pass finds it by its owner
// reference.
func TestLostResponseToACreateIsNotACreationByOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		res := resourceOf[corev1.ConfigMap](t)
		server := fakeapi.New(res)
		pages := client.Namespaced[corev1.ConfigMap](server.Client(), "prod")
		applies := 0
		pass := passes(fakeapi.ClientOf(middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
			resp, err := server.RoundTrip(r)
			if r.Method != http.MethodPatch {
				return resp, err
			}
			applies++
			if applies > 1 {
				return resp, err
			}
			stored, err := pages.Get(t.Context(), "a", nil)
			if err != nil {
				return nil, err
			}
			stored.Labels = map[string]string{"seen-by": "other"}
			stored.ManagedFields = []metav1.ManagedFieldsEntry{
				{Manager: manager, Operation: metav1.ManagedFieldsOperationApply},
				{Manager: "other", Operation: metav1.ManagedFieldsOperationUpdate},
			}
			server.Put(res, stored)
			return nil, io.ErrUnexpectedEOF
		})))
		if err := pass(t.Context(), page("a")); !core.IsRetryable(err) || applies != 1 {
			t.Errorf("Apply = %v after %d requests, want the error of one request, which may be retried", err, applies)
		}
		for range 2 {
			if err := pass(t.Context(), page("a")); err != nil || applies != 2 {
				t.Errorf("Apply = %v after %d requests, want success after 2", err, applies)
			}
		}
		stored, err := pages.Get(t.Context(), "a", nil)
		if err != nil || stored.Data["title"] != "a" || metav1.GetControllerOf(stored) == nil {
			t.Errorf("the object is %+v, %v, want the declared fields and the owner reference", stored, err)
		}
	})
}

func TestDriftOfStringDataIsRepaired(t *testing.T) {
	server := fakeapi.New(resourceOf[corev1.Secret](t))
	applies := 0
	pass := passes(fakeapi.ClientOf(middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodPatch {
			applies++
		}
		return server.RoundTrip(r)
	})))
	secrets := client.Namespaced[corev1.Secret](server.Client(), "prod")
	check := func(what string, want int) {
		t.Helper()
		declared := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}, StringData: map[string]string{"password": "right"}}
		if err := pass(t.Context(), declared); err != nil {
			t.Fatal(err)
		}
		stored, err := secrets.Get(t.Context(), "s", nil)
		if err != nil || string(stored.Data["password"]) != "right" || applies != want {
			t.Errorf("%s: the password is %q, %v, after %d applies, want %d", what, stored.Data["password"], err, applies, want)
		}
	}
	check("the Secret is new", 1)
	check("nothing has changed", 1)
	_, err := secrets.Modify(t.Context(), "s", func(s *corev1.Secret) error {
		s.Data = map[string][]byte{"password": []byte("wrong")}
		return nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	check("another client has changed the password", 2)
}

func TestNoWrappedErrorHasValuesOfASecret(t *testing.T) {
	const value = "hunter22"
	server := fakeapi.New(resourceOf[corev1.Secret](t))
	pass := passes(fakeapi.ClientOf(middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
		if r.Method != http.MethodPatch {
			return server.RoundTrip(r)
		}
		body := `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 422, "reason": "Invalid",
			"message": "data[password]: Invalid value: ` + value + `", "details": {"name": "s", "kind": "secrets",
			"causes": [{"field": "data[password]", "message": "Invalid value: ` + value + `"}]}}`
		return &http.Response{
			StatusCode: http.StatusUnprocessableEntity, Header: http.Header{"Content-Type": {"application/json"}},
			Body: io.NopCloser(strings.NewReader(body)), Request: r,
		}, nil
	})))
	err := pass(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "s"}, StringData: map[string]string{"password": value},
	})
	status, ok := errors.AsType[*core.StatusError](err)
	if !ok || !errors.Is(err, core.ErrInvalid) || len(status.Causes()) != 1 || status.Causes()[0].Field != "data[password]" {
		t.Fatalf("Apply = %v, want a StatusError with its reason and its cause", err)
	}
	encoded := base64.StdEncoding.EncodeToString([]byte(value))
	if text := err.Error() + status.Status.String(); strings.Contains(text, value) || strings.Contains(text, encoded) {
		t.Errorf("Apply = %s, want no value of the Secret", text)
	}
}

// TestObjectsOfARemovedKindAreForgottenWhileAnotherGroupIsUnavailable checks that a pass prunes an item of a kind whose
// group has been removed with its definition, although the server can't discover another group.
func TestObjectsOfARemovedKindAreForgottenWhileAnotherGroupIsUnavailable(t *testing.T) {
	c := fakeapi.ClientOf(middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
		body := `{"kind": "APIGroupDiscoveryList", "items": [{"metadata": {"name": "metrics.k8s.io"}, "versions": [
			{"version": "v1beta1", "freshness": "Stale", "resources": []}]}]}`
		return &http.Response{
			StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
			Body: io.NopCloser(strings.NewReader(body)), Request: r,
		}, nil
	}))
	pass := inventory.New(c, manager, nil).Begin(site(), []machine.Item{
		{Group: "late.test", Version: "v1", Kind: "Gadget", Namespace: "prod", Name: "a", UID: "1"},
	}, ignore)
	waiting, err := pass.Prune(t.Context(), nil)
	if items := pass.Items(); err != nil || waiting != "" || len(items) != 0 {
		t.Errorf("Prune: waits for %q, %v; the inventory is %+v, want an empty one", waiting, err, items)
	}
}
