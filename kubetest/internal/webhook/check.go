// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Check returns the errors for which a server refuses a MutatingWebhookConfiguration or ValidatingWebhookConfiguration.
// They have the texts of kube-apiserver. It has the rules that manifests written by hand often break: unlike a server, it
// accepts invalid addresses and contradictory wildcards.
func Check(obj *unstructured.Unstructured) (field.ErrorList, error) {
	var config admissionregistrationv1.MutatingWebhookConfiguration
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &config); err != nil {
		return nil, err
	}
	var errs field.ErrorList
	names := map[string]bool{}
	for i, w := range config.Webhooks {
		path := field.NewPath("webhooks").Index(i)
		errs = append(errs, checkWebhook(&w, path)...)
		if names[w.Name] && w.Name != "" {
			errs = append(errs, field.Duplicate(path.Child("name"), w.Name))
		}
		names[w.Name] = true
	}
	return errs, nil
}

func checkWebhook(w *admissionregistrationv1.MutatingWebhook, path *field.Path) field.ErrorList {
	errs := utilvalidation.IsFullyQualifiedName(path.Child("name"), w.Name)
	for i, rule := range w.Rules {
		errs = append(errs, checkRule(&rule, path.Child("rules").Index(i))...)
	}
	errs = append(errs, oneOf(path.Child("failurePolicy"), w.FailurePolicy, "Fail", "Ignore")...)
	errs = append(errs, oneOf(path.Child("matchPolicy"), w.MatchPolicy, "Equivalent", "Exact")...)
	if w.SideEffects == nil {
		errs = append(errs, field.Required(path.Child("sideEffects"), "must specify one of None, NoneOnDryRun"))
	}
	errs = append(errs, oneOf(path.Child("sideEffects"), w.SideEffects, "None", "NoneOnDryRun")...)
	if s := w.TimeoutSeconds; s != nil && (*s < 1 || *s > 30) {
		errs = append(errs, field.Invalid(path.Child("timeoutSeconds"), *s, "the timeout value must be between 1 and 30 seconds"))
	}
	errs = append(errs, checkSelector(w.NamespaceSelector, path.Child("namespaceSelector"))...)
	errs = append(errs, checkSelector(w.ObjectSelector, path.Child("objectSelector"))...)
	errs = append(errs, oneOf(path.Child("reinvocationPolicy"), w.ReinvocationPolicy, "IfNeeded", "Never")...)
	if (w.ClientConfig.URL == nil) == (w.ClientConfig.Service == nil) {
		errs = append(errs, field.Required(path.Child("clientConfig"), "exactly one of url or service is required"))
	}
	switch versions := path.Child("admissionReviewVersions"); {
	case len(w.AdmissionReviewVersions) == 0:
		errs = append(errs, field.Required(versions, "must specify one of v1, v1beta1"))
	case !slices.Contains(w.AdmissionReviewVersions, "v1") && !slices.Contains(w.AdmissionReviewVersions, "v1beta1"):
		errs = append(errs, field.Invalid(versions, w.AdmissionReviewVersions, "must include at least one of v1, v1beta1"))
	}
	return errs
}

func checkSelector(s *metav1.LabelSelector, path *field.Path) field.ErrorList {
	if s == nil {
		return nil
	}
	return metav1validation.ValidateLabelSelector(s, metav1validation.LabelSelectorValidationOptions{}, path)
}

func checkRule(r *admissionregistrationv1.RuleWithOperations, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(r.Operations) == 0 {
		errs = append(errs, field.Required(path.Child("operations"), ""))
	}
	for i, operation := range r.Operations {
		errs = append(errs, oneOf(path.Child("operations").Index(i), &operation,
			"*", admissionregistrationv1.Connect, admissionregistrationv1.Create, admissionregistrationv1.Delete,
			admissionregistrationv1.Update)...)
	}
	if len(r.APIGroups) == 0 {
		errs = append(errs, field.Required(path.Child("apiGroups"), ""))
	}
	errs = append(errs, notEmpty(path.Child("apiVersions"), r.APIVersions)...)
	errs = append(errs, notEmpty(path.Child("resources"), r.Resources)...)
	return append(errs, oneOf(path.Child("scope"), r.Scope, "*", "Cluster", "Namespaced")...)
}

// oneOf returns an error if a value is not one of the valid ones, which are sorted.
func oneOf[T ~string](path *field.Path, value *T, valid ...T) field.ErrorList {
	if value == nil || slices.Contains(valid, *value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path, *value, valid)}
}

// notEmpty returns errors if a list or one of its values is empty.
func notEmpty(path *field.Path, values []string) field.ErrorList {
	if len(values) == 0 {
		return field.ErrorList{field.Required(path, "")}
	}
	var errs field.ErrorList
	for i, value := range values {
		if value == "" {
			errs = append(errs, field.Required(path.Index(i), ""))
		}
	}
	return errs
}
