// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/install"
	"github.com/kube-go/sdk/runtime/wait"
)

// WaitOptions are the options of [Await] and [AwaitGone]: Logger. See [wait.Options].
type WaitOptions = wait.Options

// Condition is a condition of [Await]: a func(*K) error that returns nil when it holds, and otherwise an error that
// says what is missing. See [wait.Condition].
type Condition[K any] = wait.Condition[K]

// Await watches an object until a condition holds, such as [Ready], or a result of [StatusCondition] or [JSONPath]. It
// returns the object. See [wait.Await].
func Await[K any, P core.ObjectPtr[K]](
	ctx context.Context, api *API[K], name string, c Condition[K], o *WaitOptions,
) (*K, error) {
	return wait.Await[K, P](ctx, api, name, c, o)
}

// AwaitGone watches an object until it is deleted. If uid is not empty, an object with the same name and another UID
// counts as deleted. See [wait.Gone].
func AwaitGone[K any, P core.ObjectPtr[K]](
	ctx context.Context, api *API[K], name string, uid types.UID, o *WaitOptions,
) error {
	return wait.Gone[K, P](ctx, api, name, uid, o)
}

// DeleteAndWait deletes an object and waits until it no longer exists. See [wait.DeleteAndWait].
func DeleteAndWait[K any, P core.ObjectPtr[K]](ctx context.Context, api *API[K], name string, o *DeleteOptions) error {
	return wait.DeleteAndWait[K, P](ctx, api, name, o)
}

// Ready is the condition for [Await] that an object of any kind has what its spec asks for, such as a Deployment whose
// replicas are updated and available, a Job that is complete, or an object of a custom type whose condition Ready is
// true. See [wait.Ready].
func Ready[K any](obj *K) error { return wait.Ready(obj) }

// JSONPath returns the condition for [Await] that a field has a value, or any value if it is empty. See
// [wait.JSONPath].
func JSONPath[K any](path, value string) Condition[K] { return wait.JSONPath[K](path, value) }

// StatusCondition returns the condition for [Await] that an entry of status.conditions has a status. The compiler can't
// infer the kind: write StatusCondition[corev1.Pod]("Ready", metav1.ConditionTrue). See [wait.StatusCondition].
func StatusCondition[K any](conditionType string, status metav1.ConditionStatus) Condition[K] {
	return wait.StatusCondition[K](conditionType, status)
}

// InstallOptions are the options of [InstallCRDs]: FieldManager, AllowDowngrade. See [install.Options].
type InstallOptions = install.Options

// InstallCRDs applies CustomResourceDefinitions and waits until their kinds can be used. A definition that lacks a
// version or a field of the installed one is an error. A [Mapper] finds the kinds afterwards: its lookup of an unknown
// kind waits until it may discover again. See [install.CRDs].
func InstallCRDs(ctx context.Context, c *Client, crds []*unstructured.Unstructured, o *InstallOptions) error {
	return install.CRDs(ctx, c, crds, o)
}

// CRD returns the CustomResourceDefinition that kube-derive generated for a kind. See [core.CRD].
func CRD[K any, P core.ObjectPtr[K]]() (*unstructured.Unstructured, error) { return core.CRD[K, P]() }

// CRDResource returns the resource of CustomResourceDefinitions, for [Dynamic]. See [core.CRDResource].
func CRDResource() Resource { return core.CRDResource() }
