// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wait_test

import (
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/internal/fakeapi"
	"github.com/kube-go/sdk/runtime/wait"
)

func TestAwaitSetsTheKindOfMetadata(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		secrets, _ := core.ResourceOf[corev1.Secret]()
		s := fakeapi.New(secrets)
		s.Put(secrets, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "a"}})
		api := client.Of[metav1.PartialObjectMetadata](s.Client(), secrets).In("prod")
		got, err := wait.Await(t.Context(), api, "a", wait.Exists[metav1.PartialObjectMetadata](), nil)
		if err != nil || got.Name != "a" || got.Kind != "Secret" || got.APIVersion != "v1" {
			t.Errorf("Await() = %+v, %v; want the metadata of a Secret", got, err)
		}
	})
}
