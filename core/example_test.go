// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package core_test

import (
	"errors"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
)

func ExampleResourceOf() {
	res, err := core.ResourceOf[appsv1.Deployment]()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res, res.APIVersion(), res.Kind, res.Namespaced)
	fmt.Println(res.ShortNames, res.Subresources)
	// Output:
	// deployments.apps apps/v1 Deployment true
	// [deploy] [scale status]
}

func ExampleResourceOf_unknown() {
	type Widget struct {
		metav1.TypeMeta
		metav1.ObjectMeta
	}
	_, err := core.ResourceOf[Widget]()
	if unknown, ok := errors.AsType[*core.UnknownKindError](err); ok {
		fmt.Println(unknown.Type, "needs a description")
	}
	// Output: core_test.Widget needs a description
}

func ExampleResource_Validate() {
	fmt.Println(core.Resource{Group: "example.com", Version: "v1", Kind: "Widget"}.Validate())
	// Output: resource: Plural is empty
}

func ExampleStatusError() {
	// A client returns such an error; it contains the server's response.
	err := fmt.Errorf("update pods prod/web-0: %w", &core.StatusError{Status: metav1.Status{
		Reason:  metav1.StatusReasonConflict,
		Code:    409,
		Message: "the object has been modified",
	}})
	fmt.Println(errors.Is(err, core.ErrConflict))
	if answer, ok := errors.AsType[*core.StatusError](err); ok {
		fmt.Println(answer.Status.Code, answer.Status.Message)
	}
	// Output:
	// true
	// 409 the object has been modified
}

func ExampleRetryAfter() {
	err := fmt.Errorf("list pods: %w", &core.StatusError{
		Status:     metav1.Status{Reason: metav1.StatusReasonTooManyRequests},
		RetryAfter: 2 * time.Second,
	})
	if wait, ok := core.RetryAfter(err); ok {
		fmt.Println("the server requests a delay of", wait)
	}
	fmt.Println(core.IsRetryable(err))
	// Output:
	// the server requests a delay of 2s
	// true
}

func ExampleObjectRef() {
	pod := core.ObjectRef{Namespace: "prod", Name: "web-0"}
	node := core.ObjectRef{Name: "n1"}
	fmt.Println(pod, node)
	fmt.Println(core.ParseObjectRef("prod/web-0") == pod)
	// Output:
	// prod/web-0 n1
	// true
}

func ExampleControllerRef() {
	owner := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "web", UID: "0b1c"}}
	ref, err := core.ControllerRef(owner)
	fmt.Println(ref.APIVersion, ref.Kind, ref.Name, ref.UID, *ref.Controller, err)
	// Output: apps/v1 Deployment web 0b1c true <nil>
}

func ExampleSetController() {
	owner := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "web", UID: "0b1c"}}
	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "web-settings"}}
	if err := core.SetController(settings, owner); err != nil {
		fmt.Println(err)
		return
	}
	ref := metav1.GetControllerOf(settings)
	fmt.Println(ref.Kind, ref.Name, metav1.IsControlledBy(settings, owner))
	// Output: Deployment web true
}

func ExampleCompareVersions() {
	served := []string{"v1alpha1", "v1", "v2beta1", "v1beta2"}
	slices.SortFunc(served, func(a, b string) int { return core.CompareVersions(b, a) }) // the most stable first
	fmt.Println(served)
	// Output: [v1 v2beta1 v1beta2 v1alpha1]
}

func ExampleCauseOf() {
	// The server returns this error if an object is created in a namespace that is being deleted.
	err := fmt.Errorf("create pods prod/web-0: %w", &core.StatusError{Status: metav1.Status{
		Reason: metav1.StatusReasonForbidden,
		Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{
			{Type: "NamespaceTerminating", Field: "metadata.namespace", Message: "namespace prod is being terminated"},
		}},
	}})
	if cause, ok := core.CauseOf(err, "NamespaceTerminating"); ok {
		fmt.Println(cause.Message)
	}
	// Output: namespace prod is being terminated
}
