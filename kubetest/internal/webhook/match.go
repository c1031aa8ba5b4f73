// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Hook is a webhook that reviews requests.
type Hook struct {
	admissionregistrationv1.MutatingWebhook // a validating one has the same fields, without a reinvocationPolicy

	namespaces, objects labels.Selector
}

// Hooks returns the webhooks of MutatingWebhookConfigurations or ValidatingWebhookConfigurations, in the order in which
// a server calls them. They have their defaults.
func Hooks(configurations []*unstructured.Unstructured) ([]*Hook, error) {
	sorted := slices.SortedFunc(slices.Values(configurations), func(a, b *unstructured.Unstructured) int {
		return cmp.Compare(a.GetName(), b.GetName())
	})
	var hooks []*Hook
	for _, obj := range sorted {
		var config admissionregistrationv1.MutatingWebhookConfiguration
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &config); err != nil {
			return nil, fmt.Errorf("%s %s: %w", obj.GetKind(), obj.GetName(), err)
		}
		for _, w := range config.Webhooks {
			h, err := &Hook{MutatingWebhook: w}, error(nil)
			if h.namespaces, err = metav1.LabelSelectorAsSelector(w.NamespaceSelector); err == nil {
				h.objects, err = metav1.LabelSelectorAsSelector(w.ObjectSelector)
			}
			if err != nil {
				return nil, fmt.Errorf("%s %s: webhook %s: %w", obj.GetKind(), obj.GetName(), w.Name, err)
			}
			hooks = append(hooks, h)
		}
	}
	return hooks, nil
}

// timeout returns how long a server waits for the hook.
func (h *Hook) timeout() time.Duration { return time.Duration(*h.TimeoutSeconds) * time.Second }

// For returns the hooks whose rules match a request, whatever its objects are.
func For(hooks []*Hook, r *Request) []*Hook {
	return slices.DeleteFunc(slices.Clone(hooks), func(h *Hook) bool { return h.version(r) == nil })
}

// version returns the version in which the hook receives the objects of a request, or nil if its rules do not match.
func (h *Hook) version(r *Request) *Version {
	versions := r.Versions
	if *h.MatchPolicy == admissionregistrationv1.Exact {
		versions = versions[:1]
	}
	if h.ruleMatches(r, &versions[0]) {
		return &versions[0]
	}
	for i := range h.Rules {
		for j := range versions[1:] {
			if v := &versions[1+j]; matches(&h.Rules[i], r, v.Resource) {
				return v
			}
		}
	}
	return nil
}

func (h *Hook) ruleMatches(r *Request, v *Version) bool {
	return slices.ContainsFunc(h.Rules, func(rule admissionregistrationv1.RuleWithOperations) bool {
		return matches(&rule, r, v.Resource)
	})
}

// matches returns whether a rule matches a request, in a version of its resource.
func matches(rule *admissionregistrationv1.RuleWithOperations, r *Request, gvr schema.GroupVersionResource) bool {
	scope, namespaced := *rule.Scope, admissionregistrationv1.ClusterScope
	if r.Namespace != "" && !r.isNamespace() {
		namespaced = admissionregistrationv1.NamespacedScope
	}
	return (scope == admissionregistrationv1.AllScopes || scope == namespaced) &&
		containsOrAll(rule.Operations, admissionregistrationv1.OperationType(r.Operation)) &&
		containsOrAll(rule.APIGroups, gvr.Group) && containsOrAll(rule.APIVersions, gvr.Version) &&
		slices.ContainsFunc(rule.Resources, func(name string) bool {
			resource, sub, _ := strings.Cut(name, "/")
			return (resource == "*" || resource == gvr.Resource) && (sub == "*" || sub == r.Subresource)
		})
}

func containsOrAll[T ~string](all []T, one T) bool {
	return slices.Contains(all, one) || slices.Contains(all, "*")
}

// selects returns whether the selectors of the hook select the objects of a request.
func (h *Hook) selects(r *Request) bool {
	objects := slices.DeleteFunc([]*unstructured.Unstructured{r.Object, r.Old}, func(obj *unstructured.Unstructured) bool {
		return obj == nil
	})
	selected := h.objects.Empty() || slices.ContainsFunc(objects, func(obj *unstructured.Unstructured) bool {
		return h.objects.Matches(labels.Set(obj.GetLabels()))
	})
	if !selected || r.Namespace == "" && !r.isNamespace() {
		return selected
	}
	of := r.NamespaceLabels
	if r.isNamespace() {
		of = objects[0].GetLabels()
	}
	return h.namespaces.Matches(labels.Set(of))
}
