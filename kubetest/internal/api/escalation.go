// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"errors"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kube-go/sdk/kubetest/internal/rbac"
)

// checkEscalation returns an error if the user of a request may not write a role or a binding, because it gives
// permissions that the user does not have. live is nil for a new object. See
// https://kubernetes.io/docs/reference/access-authn-authz/rbac/#privilege-escalation-prevention-and-bootstrapping.
func (w *write) checkEscalation(live, obj *unstructured.Unstructured) error {
	if w.call == nil || w.kind.Group != rbacv1.GroupName || slices.Contains(w.call.user.Groups, rbac.Masters) ||
		live != nil && changesOnlyRelations(live, obj) {
		return nil
	}
	p, err := policyOf(w.tx), error(nil)
	switch w.kind.Kind {
	case "Role", "ClusterRole":
		err = w.checkRole(p, live, obj)
	case "RoleBinding", "ClusterRoleBinding":
		var b rbacv1.RoleBinding // its role is in the same field in both kinds
		_ = runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &b)
		err = p.MayBind(&w.call.user, b.RoleRef, w.ref.Namespace)
	}
	if err == nil || apierrors.IsNotFound(err) {
		return err
	}
	return denied(w.call.Context(), apierrors.NewForbidden(w.kind.resource(), obj.GetName(), err))
}

func (w *write) checkRole(p *rbac.Policy, live, obj *unstructured.Unstructured) error {
	role := roleOf(obj)
	err := p.MayWrite(&w.call.user, w.kind.Plural, w.ref.Namespace, w.ref.Name, role.Rules)
	aggregates := role.AggregationRule != nil || live != nil && roleOf(live).AggregationRule != nil
	if err == nil && aggregates && !p.MayAggregate(&w.call.user) {
		err = errors.New("must have cluster-admin privileges to use the aggregationRule")
	}
	return err
}

// roleOf returns a role. A Role has the fields of a ClusterRole.
func roleOf(obj *unstructured.Unstructured) *rbacv1.ClusterRole {
	var role rbacv1.ClusterRole
	// The object was encoded from its Go type.
	_ = runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &role)
	return &role
}

// changesOnlyRelations returns whether an update changes only the fields that the garbage collector changes.
func changesOnlyRelations(live, obj *unstructured.Unstructured) bool {
	obj = obj.DeepCopy()
	obj.SetOwnerReferences(live.GetOwnerReferences())
	obj.SetFinalizers(live.GetFinalizers())
	obj.SetManagedFields(live.GetManagedFields())
	return equality.Semantic.DeepEqual(live.Object, obj.Object)
}
