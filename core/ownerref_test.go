// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package core_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/core"
)

func TestOwnerRefsDescribeTheOwner(t *testing.T) {
	owner := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "web", UID: "u"}}
	want := metav1.OwnerReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: "u"}
	if got, err := core.OwnerRef(owner); err != nil || !cmp.Equal(got, want) {
		t.Errorf("OwnerRef = %v, %v; want %v", got, err, want)
	}
	want.Controller, want.BlockOwnerDeletion = new(true), new(true)
	if got, err := core.ControllerRef(owner); err != nil || !cmp.Equal(got, want) {
		t.Errorf("ControllerRef = %v, %v; want %v", got, err, want)
	}
	named := &unstructured.Unstructured{}
	named.SetAPIVersion("apps/v1")
	named.SetKind("Deployment")
	named.SetName("web")
	named.SetUID("u")
	if got, err := core.ControllerRef(named); err != nil || !cmp.Equal(got, want) {
		t.Errorf("ControllerRef of an unstructured object = %v, %v; want %v", got, err, want)
	}
	for _, tt := range []struct {
		name  string
		owner core.Object
		want  string
	}{
		{
			"an owner that was not created yet", &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "web"}},
			`"prod/web": metadata.name and metadata.uid must be set`,
		},
		{"an owner without a name", &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{UID: "u"}}, "must be set"},
		{"an owner of an unknown kind", &unstructured.Unstructured{}, "it can be of any kind"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := core.ControllerRef(tt.owner)
			if err == nil || !strings.Contains(err.Error(), tt.want) || !cmp.Equal(got, metav1.OwnerReference{}) {
				t.Errorf("ControllerRef = %v, %v; want an error with %q", got, err, tt.want)
			}
		})
	}
}

func TestSetControllerAddsAnOwnerReference(t *testing.T) {
	owner := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "web", UID: "u"}}
	ref := metav1.OwnerReference{
		APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: "u", Controller: new(true), BlockOwnerDeletion: new(true),
	}
	friend := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "c", UID: "c"}
	other := metav1.OwnerReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "old", UID: "o", Controller: new(true)}
	tests := []struct {
		name      string
		namespace string
		in        []metav1.OwnerReference
		want      []metav1.OwnerReference
		wantErr   string
	}{
		{"an object without owners", "prod", nil, []metav1.OwnerReference{ref}, ""},
		{"an object without a namespace", "", nil, []metav1.OwnerReference{ref}, ""},
		{"an object with another owner", "prod", []metav1.OwnerReference{friend}, []metav1.OwnerReference{friend, ref}, ""},
		{
			"an object that it owns, in an older version",
			"prod",
			[]metav1.OwnerReference{{APIVersion: "apps/v1beta1", Kind: "Deployment", Name: "web", UID: "u"}, friend},
			[]metav1.OwnerReference{ref, friend},
			"",
		},
		{"an object that it controls", "prod", []metav1.OwnerReference{ref}, []metav1.OwnerReference{ref}, ""},
		{"an object of another controller", "prod", []metav1.OwnerReference{other}, nil, `controlled by Deployment "old" already`},
		{"an object in another namespace", "test", nil, nil, `lives in namespace "test"`},
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	if err := core.SetController(node, owner); err == nil || !strings.Contains(err.Error(), "the object is cluster-scoped") {
		t.Errorf("SetController of a cluster-scoped object = %v", err)
	}
	if err := core.SetController(node, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "n"}}); err != nil {
		t.Errorf("SetController with a cluster-scoped owner = %v", err)
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			obj := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: tt.namespace, Name: "a", OwnerReferences: slices.Clone(tt.in)}}
			err := core.SetController(obj, owner)
			if tt.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tt.wantErr) || !cmp.Equal(obj.OwnerReferences, tt.in) {
					t.Errorf("SetController = %v with owners %v; want an error with %q", err, obj.OwnerReferences, tt.wantErr)
				}
				return
			}
			if diff := cmp.Diff(tt.want, obj.OwnerReferences); err != nil || diff != "" {
				t.Errorf("SetController = %v; owners (-want +got):\n%s", err, diff)
			}
			if !metav1.IsControlledBy(obj, owner) {
				t.Error("the object is not controlled by its controller")
			}
		})
	}
	if err := core.SetController(&corev1.Pod{}, &appsv1.Deployment{}); err == nil {
		t.Error("SetController of an owner that was not created yet = nil")
	}
}
