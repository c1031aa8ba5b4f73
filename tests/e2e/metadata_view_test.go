// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"bytes"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/kube"
)

// TestMetadataViewHoldsNoData checks that a view of metadata has the metadata of existing and new secrets, and none of
// their data.
func TestMetadataViewHoldsNoData(t *testing.T) {
	const password = "hush-hush"
	client := connect(t, nil)
	ns := newNamespace(t, client)
	api := kube.Namespaced[corev1.Secret](client, ns)
	create := func(name string) *corev1.Secret {
		t.Helper()
		stored, err := api.Create(limit(t), &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "web"}},
			Data:       map[string][]byte{"password": []byte(password)},
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return stored
	}
	listed := create("listed")
	selection := &kube.Selection{Namespace: ns}
	view := kube.ViewOfResource[metav1.PartialObjectMetadata](kube.NewCache(client, nil), api.Resource(), selection)
	background(t, view.Run)
	if err := view.Ready(limit(t)); err != nil {
		t.Fatal(err)
	}
	watched := create("watched")
	if err := view.WaitFor(limit(t), watched); err != nil {
		t.Fatal(err)
	}
	for _, want := range []*corev1.Secret{listed, watched} {
		ref := kube.RefOf(want)
		got, err := view.Store().Get(ref)
		if err != nil {
			t.Fatal(err)
		}
		if got.Kind != "Secret" || got.APIVersion != "v1" || got.UID != want.UID || got.Labels["app"] != "web" {
			t.Errorf("the view holds %+v, want the metadata of %s", got, ref)
		}
		packed := view.Store().State(ref).Packed()
		if bytes.Contains(packed.Bytes(), []byte(password)) {
			t.Errorf("the view holds %q, which is more than metadata", packed.Bytes())
		}
	}

	// Check the responses that the server sends for such a view, before a store could remove anything.
	feed := kube.APIOf[metav1.PartialObjectMetadata](client, api.Resource()).In(ns).Feed()
	sent := 0
	check := func(object wire.Packed) {
		sent++
		if bytes.Contains(object.Bytes(), []byte(password)) {
			t.Errorf("the server sent %q, which is more than metadata", object.Bytes())
		}
	}
	_, err := feed.List(limit(t), nil, func(object wire.Packed) error {
		check(object)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	events, err := feed.Watch(limit(t), &request.WatchOptions{SendInitialEvents: true})
	if err != nil {
		t.Fatal(err)
	}
	for ev, err := range events {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Type == kube.Bookmark {
			break
		}
		check(ev.Object)
	}
	if sent != 4 {
		t.Errorf("the server sent %d objects, want both secrets in the list and in the watch", sent)
	}
}
