// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/kubetest/internal/store"
)

// TestNothingIsLeftToDoAfterAWrite makes random graphs of owners, and deletes objects with random policies.
func TestNothingIsLeftToDoAfterAWrite(t *testing.T) {
	for seed := range uint64(40) {
		random := rand.New(rand.NewPCG(seed, 7))
		s := newServer(t)
		maps := client.Namespaced[corev1.ConfigMap](clientOf(t, s), "default")
		var created []*corev1.ConfigMap
		for i := range 30 {
			cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
				Name: fmt.Sprint("n", i), OwnerReferences: owners(random, created), Finalizers: finalizersOf(random),
			}}
			got, err := maps.Create(t.Context(), cm, nil)
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			created = append(created, got)
			if random.IntN(3) == 0 {
				change(t, random, maps, created[random.IntN(len(created))].Name)
				check(t, seed, s)
			}
		}
	}
}

// newServer returns a server with objects.
func newServer(t *testing.T, objects ...core.Object) *Server {
	t.Helper()
	s := New(func(panicked string) { t.Error(panicked) }, nil)
	var seeds []Seed
	for _, obj := range objects {
		seeds = append(seeds, Seed{Object: obj})
	}
	if err := s.Add(nil, seeds); err != nil {
		t.Fatal(err)
	}
	return s
}

// clientOf returns a client that calls the server without a connection, so that it can't watch.
func clientOf(t *testing.T, s *Server) *client.Client {
	t.Helper()
	transport := middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w.Result(), nil
	})
	c, err := client.New(t.Context(), &client.Options{Config: &config.Config{Server: "http://test"}, Transport: transport})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// owners returns references to some objects, which may be deleted meanwhile.
func owners(random *rand.Rand, created []*corev1.ConfigMap) []metav1.OwnerReference {
	var refs []metav1.OwnerReference
	for range random.IntN(3) {
		if len(created) == 0 {
			break
		}
		owner := created[random.IntN(len(created))]
		if slices.ContainsFunc(refs, func(r metav1.OwnerReference) bool { return r.UID == owner.UID }) {
			continue
		}
		refs = append(refs, metav1.OwnerReference{
			APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID, BlockOwnerDeletion: new(random.IntN(2) == 0),
		})
	}
	return refs
}

func finalizersOf(random *rand.Rand) []string {
	if random.IntN(4) == 0 {
		return []string{"example.com/f"}
	}
	return nil
}

// change deletes an object, or removes its finalizers.
func change(t *testing.T, random *rand.Rand, maps *client.API[corev1.ConfigMap], name string) {
	t.Helper()
	var err error
	if random.IntN(3) == 0 {
		_, err = maps.Modify(t.Context(), name, func(cm *corev1.ConfigMap) error {
			cm.Finalizers = slices.DeleteFunc(cm.Finalizers, func(f string) bool { return f == "example.com/f" })
			return nil
		}, nil)
	} else {
		policies := []metav1.DeletionPropagation{
			metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan,
		}
		err = maps.Delete(t.Context(), name, &request.DeleteOptions{Propagation: policies[random.IntN(3)]})
	}
	if err != nil && !isNotFound(err) {
		t.Fatal(err)
	}
}

func isNotFound(err error) bool { return statusOf(err).Reason == metav1.StatusReasonNotFound }

// check checks that the store is settled.
func check(t *testing.T, seed uint64, s *Server) {
	t.Helper()
	err := s.Store.Update(true, func(tx *store.Tx) error {
		w := &write{Server: s, tx: tx}
		if left := w.consequences(keysOf(tx)); len(left) > 0 {
			t.Errorf("seed %d: left to do: %+v", seed, left)
		}
		uids := make(map[types.UID]bool)
		for _, obj := range tx.All() {
			uids[obj.GetUID()] = true
		}
		for key, obj := range tx.All() {
			refs := obj.GetOwnerReferences()
			orphaned := len(refs) > 0 && !slices.ContainsFunc(refs, func(r metav1.OwnerReference) bool { return uids[r.UID] })
			if orphaned && obj.GetDeletionTimestamp() == nil {
				t.Errorf("seed %d: %s has no owner any more, and is not deleted", seed, key.ObjectRef)
			}
			if obj.GetDeletionTimestamp() != nil && len(obj.GetFinalizers()) == 0 {
				t.Errorf("seed %d: nothing holds back the deletion of %s", seed, key.ObjectRef)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func keysOf(tx *store.Tx) []store.Key {
	var keys []store.Key
	for key := range tx.All() {
		keys = append(keys, key)
	}
	return keys
}
