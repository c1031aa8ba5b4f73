// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package typed decodes objects of built-in kinds by their Go types and sets their defaults, so that the results and
// the errors are those of a real server. The types may be those of a newer version of Kubernetes: fields that the
// schemas of package builtin do not have are unknown.
package typed

import (
	"fmt"
	"net/http"
	"sync"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/kubetest/internal/builtin"
	"github.com/kube-go/sdk/kubetest/internal/defaults"
)

// scheme has the Go types of the built-in kinds.
//
//nolint:gochecknoglobals // a cache
var scheme = sync.OnceValue(func() *runtime.Scheme {
	s := runtime.NewScheme()
	builder := runtime.NewSchemeBuilder(
		admissionregistrationv1.AddToScheme, appsv1.AddToScheme, authenticationv1.AddToScheme,
		authorizationv1.AddToScheme, autoscalingv1.AddToScheme, autoscalingv2.AddToScheme, batchv1.AddToScheme,
		certificatesv1.AddToScheme, coordinationv1.AddToScheme, corev1.AddToScheme, discoveryv1.AddToScheme,
		eventsv1.AddToScheme, flowcontrolv1.AddToScheme, networkingv1.AddToScheme, nodev1.AddToScheme,
		policyv1.AddToScheme, rbacv1.AddToScheme, resourcev1.AddToScheme, schedulingv1.AddToScheme,
		storagemigrationv1.AddToScheme, storagev1.AddToScheme,
	)
	if err := builder.AddToScheme(s); err != nil {
		panic(err) // the Go types of a k8s.io/api that its own tests do not pass with
	}
	return s
})

// Known returns whether there is a Go type for a kind.
func Known(gvk schema.GroupVersionKind) bool { return scheme().Recognizes(gvk) }

// Decode decodes an object in JSON, YAML or protobuf, whose kind is gvk unless it says otherwise. If strict is true, it
// also returns a message for each unknown or duplicate field, which it ignores. An object that can't be decoded is a
// BadRequest.
func Decode(data []byte, contentType string, gvk schema.GroupVersionKind, strict bool) (
	obj *unstructured.Unstructured, unknown []string, err error,
) {
	decoder, err := decoderOf(contentType, strict)
	if err != nil {
		return nil, nil, err
	}
	typed, got, err := decoder.Decode(data, &gvk, nil)
	if e, ok := runtime.AsStrictDecodingError(err); ok && typed != nil {
		unknown, err = texts(e.Errors()), nil
	}
	if err != nil {
		return nil, nil, Refused(err, got, gvk, data)
	}
	obj, newer, err := complete(typed, *got)
	if strict && contentType != wire.MediaTypeProtobuf { // servers ignore unknown fields in protobuf
		unknown = append(unknown, newer...)
	}
	return obj, unknown, err
}

// FromMap returns an object that has passed through its Go type, with a message for each field
// that the type does not have.
func FromMap(content map[string]any, gvk schema.GroupVersionKind) (
	obj *unstructured.Unstructured, unknown []string, err error,
) {
	typed, err := scheme().New(gvk)
	if err != nil {
		return nil, nil, err
	}
	err = runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(content, typed, true)
	if e, ok := runtime.AsStrictDecodingError(err); ok {
		unknown, err = texts(e.Errors()), nil
	}
	if err != nil {
		return nil, nil, err
	}
	obj, newer, err := complete(typed, gvk)
	return obj, append(unknown, newer...), err
}

// Refused returns the error of a server for a body that it can't decode. got is the kind in the body, if it has one.
func Refused(err error, got *schema.GroupVersionKind, want schema.GroupVersionKind, data []byte) error {
	if got != nil && got.Kind != "" {
		return apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %v",
			got.Kind, got.Version, want.Kind, err))
	}
	return apierrors.NewBadRequest(fmt.Sprintf("the object provided is unrecognized (must be of type %s): %v (%s)",
		want.Kind, err, start(data)))
}

// start returns the beginning of a body as servers show it.
func start(data []byte) string {
	const maxBytes = 30
	switch {
	case len(data) == 0:
		return "<empty>"
	case data[0] == '{' && len(data) > maxBytes:
		return string(data[:maxBytes]) + " ..."
	case data[0] == '{':
		return string(data)
	case len(data) > maxBytes:
		return fmt.Sprintf("%x ...", data[:maxBytes])
	default:
		return fmt.Sprintf("%x", data)
	}
}

func decoderOf(contentType string, strict bool) (runtime.Decoder, error) {
	s := scheme()
	switch contentType {
	case wire.MediaTypeJSON, "":
		return json.NewSerializerWithOptions(json.DefaultMetaFactory, s, s, json.SerializerOptions{Strict: strict}), nil
	case "application/yaml":
		return json.NewSerializerWithOptions(json.DefaultMetaFactory, s, s,
			json.SerializerOptions{Yaml: true, Strict: strict}), nil
	case wire.MediaTypeProtobuf:
		return protobuf.NewSerializer(s, s), nil
	default:
		return nil, UnknownFormat()
	}
}

// UnknownFormat returns the error of a server for a body in an unknown format.
func UnknownFormat() error {
	return &core.StatusError{Status: metav1.Status{
		Code: http.StatusUnsupportedMediaType, Reason: metav1.StatusReasonUnsupportedMediaType,
		Message: "the body of the request was in an unknown format - accepted media types include: application/json, " +
			"application/yaml, application/vnd.kubernetes.protobuf",
	}}
}

func texts(errs []error) []string {
	list := make([]string, len(errs))
	for i, err := range errs {
		list[i] = err.Error()
	}
	return list
}

// New returns an empty object of a kind, without defaults. The empty structs of its Go type are empty objects.
func New(gvk schema.GroupVersionKind) (*unstructured.Unstructured, error) {
	typed, err := scheme().New(gvk)
	if err != nil {
		return nil, err
	}
	obj, _, err := plain(typed, gvk)
	return obj, err
}

// complete returns a typed object as unstructured content, with its defaults. It also returns the messages of plain.
func complete(typed runtime.Object, gvk schema.GroupVersionKind) (*unstructured.Unstructured, []string, error) {
	obj, newer, err := plain(typed, gvk)
	if err != nil {
		return nil, nil, err
	}
	defaults.Set(gvk, obj.Object)
	return obj, newer, nil
}

// plain returns a typed object as unstructured content, with a message for each field that only a newer version of
// Kubernetes has. The content does not have these fields.
func plain(typed runtime.Object, gvk schema.GroupVersionKind) (
	obj *unstructured.Unstructured, newer []string, err error,
) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		return nil, nil, err
	}
	for _, path := range builtin.PruneTyped(gvk, content) {
		newer = append(newer, fmt.Sprintf("unknown field %q", path))
	}
	obj = &unstructured.Unstructured{Object: content}
	obj.SetGroupVersionKind(gvk)
	if obj.GetCreationTimestamp() == (metav1.Time{}) {
		unstructured.RemoveNestedField(content, "metadata", "creationTimestamp")
	}
	// An empty list removes the managed fields, and its encoding omits it.
	if meta, ok := typed.(metav1.Object); ok && meta.GetManagedFields() != nil && len(meta.GetManagedFields()) == 0 {
		err = unstructured.SetNestedSlice(content, []any{}, "metadata", "managedFields")
	}
	return obj, newer, err
}
