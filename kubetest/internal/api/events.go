// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// eventsGroup is the group whose events are also those of the core group.
const eventsGroup = "events.k8s.io"

// eventFields returns the names of the fields of events.k8s.io/v1 that have other names in core/v1, see
// https://github.com/kubernetes/kubernetes/blob/v1.37.2/pkg/apis/events/v1/conversion.go.
func eventFields() map[string]string {
	return map[string]string{
		"regarding": "involvedObject", "note": "message", "deprecatedSource": "source",
		"deprecatedFirstTimestamp": "firstTimestamp", "deprecatedLastTimestamp": "lastTimestamp", "deprecatedCount": "count",
		"reportingController": "reportingComponent",
	}
}

// convertEvent returns an event in the version of the other group.
func convertEvent(obj *unstructured.Unstructured, to schema.GroupVersionKind) *unstructured.Unstructured {
	content := maps.Clone(obj.Object)
	for events, core := range eventFields() {
		from, name := events, core
		if to.Group == eventsGroup {
			from, name = core, events
		}
		if value, ok := content[from]; ok {
			delete(content, from)
			content[name] = value
		}
	}
	converted := &unstructured.Unstructured{Object: content}
	converted.SetGroupVersionKind(to)
	return converted
}
