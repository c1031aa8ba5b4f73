// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/internal/excerpt"
)

// Type is the type of an event.
type Type string

// The types of events, see https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/event-v1/.
const (
	Normal  Type = "Normal"  // normal operation
	Warning Type = "Warning" // may need attention
)

// Event describes what happened to an object.
type Event struct {
	// Type is the type of the event. Default: Normal.
	Type Type

	// Reason is a machine-readable word for why the controller acted, such as TemplateMissing. Required.
	Reason string

	// Action is a machine-readable word for what the controller did or tried, such as Render. Default: the reason.
	Action string

	// Note is a description for humans.
	Note string

	// Related is another object that the action involved, such as the one that was created. An object that can't be
	// referenced, because its kind is unknown or it has no name, is omitted with a warning. Default: none.
	Related core.Object
}

// The server's limits, in bytes.
const (
	maxReason     = 128
	maxAction     = 128
	maxController = 63 // without a domain
	maxInstance   = 128
	maxNote       = 1024
)

// identity is the part that equal events have in common. All events of a recorder also share controller and instance.
type identity struct {
	typ                Type
	reason, action     string
	regarding, related reference
}

// namespace returns the namespace in which the event is stored.
func (id *identity) namespace() string {
	return cmp.Or(id.regarding.Namespace, metav1.NamespaceDefault)
}

// reference identifies an object. It has no resource version, since equal events concern the same object in different
// versions.
type reference struct {
	APIVersion string    `json:"apiVersion,omitempty"`
	Kind       string    `json:"kind,omitempty"`
	Namespace  string    `json:"namespace,omitempty"`
	Name       string    `json:"name,omitempty"`
	UID        types.UID `json:"uid,omitempty"`
}

// identify returns what e has in common with its repetitions for obj. If the related object can't be referenced, it is
// omitted, and unrelated is the reason.
func identify(obj core.Object, e Event) (id identity, unrelated, err error) {
	id = identity{typ: e.Type, reason: excerpt.Of(e.Reason, maxReason), action: excerpt.Of(e.Action, maxAction)}
	if id.typ == "" {
		id.typ = Normal
	}
	if id.action == "" {
		id.action = id.reason
	}
	switch {
	case id.reason == "":
		return id, nil, errors.New("the reason is empty: set Event.Reason")
	case id.typ != Normal && id.typ != Warning:
		return id, nil, fmt.Errorf("type %q is invalid: want Normal or Warning", id.typ)
	}
	if id.regarding, err = refer(obj); err != nil {
		return id, nil, err
	}
	if e.Related != nil {
		id.related, unrelated = refer(e.Related)
	}
	return id, unrelated, nil
}

// refer returns a reference to an object. It uses the kind that the object has, as objects from a server do, or
// otherwise the kind of its type.
func refer(obj core.Object) (reference, error) {
	switch v := reflect.ValueOf(obj); {
	case obj == nil:
		return reference{}, errors.New("the object is nil")
	case v.Kind() == reflect.Pointer && v.IsNil():
		return reference{}, fmt.Errorf("the object is a nil %T", obj)
	case obj.GetName() == "":
		return reference{}, fmt.Errorf("the %T has no name", obj)
	}
	gvk := obj.GetObjectKind().GroupVersionKind()
	if gvk.Kind == "" || gvk.Version == "" {
		res, err := core.ResourceOfObject(obj)
		if err != nil {
			return reference{}, fmt.Errorf(
				"the kind of the %T %s is unknown: set its apiVersion and kind: %w",
				obj,
				core.RefOf(obj),
				err,
			)
		}
		gvk = res.GroupVersionKind()
	}
	return reference{
		APIVersion: gvk.GroupVersion().String(),
		Kind:       gvk.Kind,
		Namespace:  obj.GetNamespace(),
		Name:       obj.GetName(),
		UID:        obj.GetUID(),
	}, nil
}

// object is an Event of events.k8s.io/v1 with the fields that are written. It is declared here because
// k8s.io/api/events/v1 would link the types of core/v1 into every program.
type object struct {
	metav1.TypeMeta     `json:",inline"`
	metav1.ObjectMeta   `json:"metadata"`
	EventTime           metav1.MicroTime `json:"eventTime"`
	Series              *count           `json:"series,omitempty"`
	ReportingController string           `json:"reportingController"`
	ReportingInstance   string           `json:"reportingInstance"`
	Action              string           `json:"action"`
	Reason              string           `json:"reason"`
	Regarding           reference        `json:"regarding"`
	Related             *reference       `json:"related,omitempty"`
	Note                string           `json:"note,omitempty"`
	Type                Type             `json:"type"`
}

// count is an Event's series.
type count struct {
	Count            int              `json:"count"`
	LastObservedTime metav1.MicroTime `json:"lastObservedTime"`
}

// KubeResource returns the resource of the kind.
func (*object) KubeResource() core.Resource {
	return core.Resource{Group: "events.k8s.io", Version: "v1", Kind: "Event", Plural: "events", Namespaced: true}
}

// maxName is the maximum length of a name that is a DNS subdomain.
const maxName = 253

// eventName returns a name that is unique if no other event of the recorder has the serial. It starts with the name of
// the object if that is a valid DNS subdomain. It ends with characters of the recorder, since several recorders may
// read the same time.
func eventName(of string, serial int64, recorder string) string {
	suffix := fmt.Sprintf(".%016x-%s", serial, recorder)
	prefix := strings.TrimRight(of[:min(len(of), maxName-len(suffix))], ".-")
	if len(validation.IsDNS1123Subdomain(prefix)) > 0 {
		prefix = "event" // such as for the ClusterRole system:node
	}
	return prefix + suffix
}
