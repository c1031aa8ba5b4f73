// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// selection is what a list or a watch selects.
type selection struct {
	kind      *kind
	namespace string
	labels    labels.Selector
	fields    fields.Selector
}

// newSelection returns the selection of a request. It returns an error for a field that the kind can't be selected by.
func (c *call) newSelection(o *internalversion.ListOptions) (*selection, error) {
	s := &selection{kind: c.kind, namespace: c.ref.Namespace, labels: o.LabelSelector, fields: o.FieldSelector}
	if s.labels == nil {
		s.labels = labels.Everything()
	}
	if s.fields == nil {
		s.fields = fields.Everything()
	}
	for _, r := range s.fields.Requirements() {
		if !slices.Contains(c.kind.selectable(), r.Field) {
			return nil, apierrors.NewBadRequest(c.kind.notSelectable(r.Field))
		}
	}
	return s, nil
}

// all returns whether the selection has no selectors.
func (s *selection) all() bool { return s.labels.Empty() && s.fields.Empty() }

// has returns whether the selection has an object, which may be nil.
func (s *selection) has(obj *unstructured.Unstructured) bool {
	if obj == nil || s.namespace != "" && obj.GetNamespace() != s.namespace ||
		!s.labels.Matches(labels.Set(obj.GetLabels())) {
		return false
	}
	if s.fields.Empty() {
		return true
	}
	obj, err := s.kind.convert(obj)
	if err != nil {
		return false
	}
	if s.kind.custom != nil {
		return s.fields.Matches(fields.Set(s.kind.custom.Fields(obj)))
	}
	values := make(fields.Set)
	for _, r := range s.fields.Requirements() {
		values[r.Field] = s.kind.selected(obj, r.Field)
	}
	return s.fields.Matches(values)
}

// selected returns the value that a selectable field of a built-in kind has for selectors. Some are not those of the
// path in the name.
func (k *kind) selected(obj *unstructured.Unstructured, name string) string {
	paths, unset := []string{name}, ""
	switch k.resource().String() + " " + name {
	case "nodes spec.unschedulable", "pods spec.hostNetwork":
		unset = "false"
	case "pods status.podIPs":
		return ""
	case "jobs.batch status.successful":
		paths, unset = []string{"status.succeeded"}, "0"
	case "events source":
		paths = []string{"source.component", "reportingComponent"}
	}
	for _, path := range paths {
		value, ok, _ := unstructured.NestedFieldNoCopy(obj.Object, strings.Split(path, ".")...)
		if text := fmt.Sprint(value); ok && text != "" {
			return text
		}
	}
	return unset
}

// selectable returns the fields by which objects of the kind can be selected.
func (k *kind) selectable() []string {
	names := []string{"metadata.name"}
	if k.Namespaced && k.Kind != "PodCertificateRequest" {
		names = append(names, "metadata.namespace")
	}
	if k.custom == nil {
		return append(names, builtinSelectable()[k.resource().String()]...)
	}
	for _, path := range k.custom.SelectableFields {
		names = append(names, strings.TrimPrefix(path, "."))
	}
	return names
}

// notSelectable returns the server's message for another field.
func (k *kind) notSelectable(name string) string {
	if k.custom != nil {
		return "field label not supported: " + name
	}
	switch k.resource().String() {
	case "jobs.batch":
		return fmt.Sprintf("field label %q not supported for Job", name)
	case "resourceslices.resource.k8s.io":
		return fmt.Sprintf("field label not supported for %s: %s", k.GroupVersionKind(), name)
	case "pods", "nodes", "replicationcontrollers", "events", "events.events.k8s.io", "namespaces", "secrets",
		"services", "certificatesigningrequests.certificates.k8s.io", "clustertrustbundles.certificates.k8s.io",
		"podcertificaterequests.certificates.k8s.io":
		return "field label not supported: " + name
	default:
		return fmt.Sprintf("%q is not a known field selector: only %s", name, quotedList(k.selectable()))
	}
}

func quotedList(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = fmt.Sprintf("%q", name)
	}
	return strings.Join(quoted, ", ")
}

// builtinSelectable returns the further selectable fields of built-in kinds, from the conversions of their field labels
// in https://github.com/kubernetes/kubernetes/tree/v1.37.2/pkg/apis.
func builtinSelectable() map[string][]string {
	return map[string][]string{
		"pods": {
			"spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork",
			"status.phase", "status.podIP", "status.podIPs", "status.nominatedNodeName",
		},
		"nodes":                          {"spec.unschedulable"},
		"replicationcontrollers":         {"status.replicas"},
		"namespaces":                     {"status.phase"},
		"secrets":                        {"type"},
		"services":                       {"spec.clusterIP", "spec.type"},
		"jobs.batch":                     {"status.successful"},
		"resourceslices.resource.k8s.io": {"spec.driver", "spec.nodeName", "spec.pool.name"},
		"certificatesigningrequests.certificates.k8s.io": {"spec.signerName"},
		"clustertrustbundles.certificates.k8s.io":        {"spec.signerName"},
		"podcertificaterequests.certificates.k8s.io":     {"spec.signerName", "spec.podName", "spec.nodeName"},
		"events.events.k8s.io": {
			"regarding.kind", "regarding.namespace", "regarding.name", "regarding.uid", "regarding.apiVersion",
			"regarding.resourceVersion", "regarding.fieldPath", "reason", "reportingController", "type",
		},
		"events": {
			"involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid",
			"involvedObject.apiVersion", "involvedObject.resourceVersion", "involvedObject.fieldPath", "reason",
			"reportingComponent", "source", "type",
		},
	}
}
