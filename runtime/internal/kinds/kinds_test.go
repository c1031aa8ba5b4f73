// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kinds_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/internal/kinds"
)

type (
	embedding struct{ metav1.PartialObjectMetadata }
	more      struct {
		metav1.PartialObjectMetadata
		Spec string
	}
	empty struct { // a kind without other fields, which is not a metadata type
		metav1.TypeMeta
		metav1.ObjectMeta
	}
)

func TestMetadataTypesAreRecognised(t *testing.T) {
	for name, tt := range map[string]struct{ got, want bool }{
		"PartialObjectMetadata":    {kinds.IsMetadata[metav1.PartialObjectMetadata](), true},
		"a type that embeds it":    {kinds.IsMetadata[embedding](), true},
		"a type with other fields": {kinds.IsMetadata[more](), false},
		"a kind without fields":    {kinds.IsMetadata[empty](), false},
		"a kind":                   {kinds.IsMetadata[corev1.Pod](), false},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: IsMetadata = %v, want %v", name, tt.got, tt.want)
		}
	}
}

func TestCompleteSetsTheKindOfTheResource(t *testing.T) {
	res := core.Resource{Group: "apps", Version: "v1", Kind: "Deployment"}
	for _, tt := range []struct {
		name      string
		has, want schema.GroupVersionKind
	}{
		{"nothing", schema.GroupVersionKind{}, res.GroupVersionKind()},
		{"metadata", metav1.SchemeGroupVersion.WithKind("PartialObjectMetadata"), res.GroupVersionKind()},
		{
			"another kind",
			schema.GroupVersionKind{Version: "v1", Kind: "Pod"},
			schema.GroupVersionKind{Version: "v1", Kind: "Pod"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			obj := &metav1.PartialObjectMetadata{}
			obj.SetGroupVersionKind(tt.has)
			kinds.Complete(obj, res)
			if got := obj.GroupVersionKind(); got != tt.want {
				t.Errorf("kind = %v, want %v", got, tt.want)
			}
		})
	}
}
