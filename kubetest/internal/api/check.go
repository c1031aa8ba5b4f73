// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"fmt"
	"reflect"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kube-go/sdk/kubetest/internal/builtin"
	"github.com/kube-go/sdk/kubetest/internal/defaults"
	"github.com/kube-go/sdk/kubetest/internal/definition"
	"github.com/kube-go/sdk/kubetest/internal/webhook"
)

// check validates and completes an object. live is nil for a new one.
func (w *write) check(obj, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	switch {
	case w.kind.isDefinition():
		return w.checkDefinition(obj, live)
	case w.kind.custom != nil:
		return obj, w.checkCustom(obj, live)
	default:
		return obj, w.checkBuiltin(obj, live)
	}
}

func (w *write) checkDefinition(obj, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	others := w.tx.List(definitions())
	if w.subresource == "status" {
		return definition.AdmitStatus(obj, live, others)
	}
	return definition.Admit(obj, live, others)
}

func (w *write) checkCustom(obj, live *unstructured.Unstructured) (err error) {
	var warnings []string
	if live != nil {
		warnings, err = w.kind.custom.Update(obj, live, w.subresource)
	} else {
		status, ok := obj.Object["status"]
		warnings, err = w.kind.custom.Create(obj)
		if ok && w.seed {
			obj.Object["status"] = status
		}
	}
	for _, text := range warnings {
		w.warn(text)
	}
	return err
}

func (w *write) checkBuiltin(obj, live *unstructured.Unstructured) error {
	errs := w.separate(obj, live)
	if live == nil {
		w.prepare(obj)
	} else {
		defaults.PrepareUpdate(w.kind.GroupVersionKind(), w.subresource, obj.Object, live.Object)
		if builtin.Changed(w.kind.GroupVersionKind(), live.Object, obj.Object) {
			obj.SetGeneration(live.GetGeneration() + 1)
		}
	}
	path := field.NewPath("metadata")
	rule := nameRule(w.kind.stored(), obj)
	errs = append(errs, validation.ValidateObjectMetaAccessor(obj, w.kind.Namespaced, rule, path)...)
	if live != nil {
		errs = append(errs, validation.ValidateObjectMetaAccessorUpdate(obj, live, path)...)
		errs = append(errs, immutable(obj, live)...)
	}
	errs = append(errs, finalizers(obj)...)
	if live == nil && w.kind.Group == configurations(true).Group {
		errs = append(errs, reservedName(obj.GetName(), path.Child("name"))...)
	}
	if w.kind.stored() == configurations(true) || w.kind.stored() == configurations(false) {
		more, err := webhook.Check(obj)
		if err != nil {
			return err
		}
		errs = append(errs, more...)
	}
	if len(errs) > 0 {
		return apierrors.NewInvalid(w.kind.GroupVersionKind().GroupKind(), obj.GetName(), errs)
	}
	if live == nil {
		w.warnWithoutEffect()
	}
	return nil
}

// reservedName returns the error of a configuration of admission with a name that only files of the server can have.
func reservedName(name string, path *field.Path) field.ErrorList {
	const suffix = ".static.k8s.io"
	if !strings.HasSuffix(name, suffix) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, name, fmt.Sprintf("names ending with %q are reserved for static "+
		"manifest-based configurations and cannot be managed via the API", suffix))}
}

// warnWithoutEffect warns that the server does not enforce a new object.
func (w *write) warnWithoutEffect() {
	switch {
	case w.kind.stored() == configurations(true), w.kind.stored() == configurations(false):
		if w.Webhooks == nil {
			w.warn("kubetest calls no webhooks without Options.Webhooks")
		}
	case w.kind.Group == configurations(true).Group:
		w.warn("kubetest has no admission policies: use a real cluster to test them")
	case w.kind.Group == "" && (w.kind.Kind == "ResourceQuota" || w.kind.Kind == "LimitRange"):
		w.warn("kubetest has no quotas and limits: use a real cluster to test them")
	}
}

// prepare sets what the server sets in new objects of a built-in kind.
func (w *write) prepare(obj *unstructured.Unstructured) {
	defaults.Prepare(w.kind.GroupVersionKind(), obj.Object)
	account, _, _ := unstructured.NestedString(obj.Object, "spec", "serviceAccountName")
	if w.kind.Kind == "Pod" && account == "" {
		setNested(obj, "default", "spec", "serviceAccountName") // as an admission plugin does
		setNested(obj, "default", "spec", "serviceAccount")
	}
}

// setNested sets a field. Its parents are objects, since the object has passed through its Go type.
func setNested(obj *unstructured.Unstructured, value any, path ...string) {
	if err := unstructured.SetNestedField(obj.Object, value, path...); err != nil {
		panic(err)
	}
}

// finalizers returns the errors of names that are neither standard nor qualified. Only built-in kinds have this rule.
func finalizers(obj *unstructured.Unstructured) field.ErrorList {
	var errs field.ErrorList
	for i, name := range obj.GetFinalizers() {
		switch name {
		case "kubernetes", metav1.FinalizerDeleteDependents, metav1.FinalizerOrphanDependents:
			continue
		}
		if !strings.Contains(name, "/") {
			errs = append(errs, field.Invalid(field.NewPath("metadata", "finalizers").Index(i), name,
				"name is neither a standard finalizer name nor is it fully qualified"))
		}
	}
	return errs
}

// immutable returns the errors of a changed ConfigMap or Secret that is immutable, see
// https://kubernetes.io/docs/concepts/configuration/configmap/#configmap-immutable.
func immutable(obj, live *unstructured.Unstructured) field.ErrorList {
	if on, _, _ := unstructured.NestedBool(live.Object, "immutable"); !on {
		return nil
	}
	var errs field.ErrorList
	for _, name := range []string{"immutable", "data", "binaryData"} {
		if !reflect.DeepEqual(obj.Object[name], live.Object[name]) {
			errs = append(errs, field.Forbidden(field.NewPath(name), "field is immutable when `immutable` is set"))
		}
	}
	return errs
}

// nameRule returns the rule for the names of a built-in kind. Those of RBAC are checked like a path segment.
// Those of trust bundles begin with their signer.
func nameRule(gr schema.GroupResource, obj *unstructured.Unstructured) validation.ValidateNameFunc {
	switch {
	case gr == schema.GroupResource{Group: "certificates.k8s.io", Resource: "clustertrustbundles"}:
		signer, _, _ := unstructured.NestedString(obj.Object, "spec", "signerName")
		return bundleName(signer)
	case gr.Group == "rbac.authorization.k8s.io":
		return func(name string, _ bool) []string { return content.IsPathSegmentName(name) }
	case gr == namespaces():
		return validation.ValidateNamespaceName
	case gr == schema.GroupResource{Resource: "services"}:
		return validation.NameIsDNS1035Label
	default:
		return validation.NameIsDNSSubdomain
	}
}

// bundleName returns the rule for the names of the trust bundles of a signer, see
// https://kubernetes.io/docs/reference/access-authn-authz/certificate-signing-requests/#cluster-trust-bundles.
func bundleName(signer string) validation.ValidateNameFunc {
	return func(name string, isPrefix bool) []string {
		prefix := strings.ReplaceAll(signer, "/", ":") + ":"
		rest, ok := strings.CutPrefix(name, prefix)
		switch {
		case signer != "" && !ok:
			return []string{fmt.Sprintf("ClusterTrustBundle for signerName %s must be named with prefix %s", signer, prefix)}
		case signer == "" && strings.Contains(name, ":"):
			return []string{`ClusterTrustBundle without signer name must not have ":" in its name`}
		case signer == "":
			rest = name
		}
		return validation.NameIsDNSSubdomain(rest, isPrefix)
	}
}
