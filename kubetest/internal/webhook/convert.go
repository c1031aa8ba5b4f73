// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
)

// conversionTimeout is how long a server waits for a conversion.
const conversionTimeout = 30 * time.Second

// conversionReview is a review of version v1 of apiextensions.k8s.io.
type conversionReview struct {
	metav1.TypeMeta `json:",inline"`
	Request         *conversionRequest  `json:"request,omitempty"`
	Response        *conversionResponse `json:"response,omitempty"`
}

type conversionRequest struct {
	UID               types.UID                    `json:"uid"`
	DesiredAPIVersion string                       `json:"desiredAPIVersion"`
	Objects           []*unstructured.Unstructured `json:"objects"`
}

type conversionResponse struct {
	UID              types.UID                    `json:"uid"`
	ConvertedObjects []*unstructured.Unstructured `json:"convertedObjects"`
	Result           metav1.Status                `json:"result"`
}

// Converter converts the objects of a definition.
type Converter struct {
	handler  http.Handler
	client   admissionregistrationv1.WebhookClientConfig
	versions []string
}

// NewConverter returns a converter that calls the webhook in the field spec.conversion.webhook of a definition.
func NewConverter(h http.Handler, field map[string]any) (*Converter, error) {
	var hook struct {
		ClientConfig admissionregistrationv1.WebhookClientConfig `json:"clientConfig"`
		Versions     []string                                    `json:"conversionReviewVersions"`
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(field, &hook); err != nil {
		return nil, fmt.Errorf("spec.conversion.webhook: %w", err)
	}
	return &Converter{handler: h, client: hook.ClientConfig, versions: hook.Versions}, nil
}

// Convert returns an object in another version. Of its metadata, only labels and annotations can change.
func (c *Converter) Convert(obj *unstructured.Unstructured, apiVersion string) (*unstructured.Unstructured, error) {
	if !slices.Contains(c.versions, "v1") {
		return nil, fmt.Errorf("conversionReviewVersions are %q, and kubetest sends reviews of v1", c.versions)
	}
	kind := metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "ConversionReview"}
	sent := conversionReview{TypeMeta: kind, Request: &conversionRequest{
		UID: uuid.NewUUID(), DesiredAPIVersion: apiVersion, Objects: []*unstructured.Unstructured{obj},
	}}
	var got conversionReview
	if err := post(context.Background(), c.handler, &c.client, conversionTimeout, sent, &got); err != nil {
		return nil, err
	}
	switch r := got.Response; {
	case got.TypeMeta != kind:
		return nil, fmt.Errorf("the response is a %s of %s, and not a %s of %s",
			got.Kind, got.APIVersion, kind.Kind, kind.APIVersion)
	case r == nil:
		return nil, errors.New("the review has no response")
	case r.UID != sent.Request.UID:
		return nil, fmt.Errorf("the response has the uid %q, and the request %q", r.UID, sent.Request.UID)
	case r.Result.Status != metav1.StatusSuccess && r.Result.Message != "":
		return nil, errors.New(r.Result.Message)
	case r.Result.Status != metav1.StatusSuccess:
		return nil, fmt.Errorf("response.result.status is %q, and not %q", r.Result.Status, metav1.StatusSuccess)
	case len(r.ConvertedObjects) != 1 || r.ConvertedObjects[0] == nil:
		return nil, fmt.Errorf("the response has %d objects for one of the request", len(r.ConvertedObjects))
	}
	out := got.Response.ConvertedObjects[0]
	switch {
	case out.GetAPIVersion() != apiVersion || out.GetKind() != obj.GetKind():
		return nil, fmt.Errorf("the response has a %s of %s, and not a %s of %s",
			out.GetKind(), out.GetAPIVersion(), obj.GetKind(), apiVersion)
	case out.GetName() != obj.GetName() || out.GetNamespace() != obj.GetNamespace() || out.GetUID() != obj.GetUID():
		return nil, errors.New("the response has another name, namespace or uid in metadata")
	}
	labels, _, err := unstructured.NestedStringMap(out.Object, "metadata", "labels")
	if err != nil {
		return nil, err
	}
	annotations, _, err := unstructured.NestedStringMap(out.Object, "metadata", "annotations")
	if err != nil {
		return nil, err
	}
	out.Object["metadata"] = obj.DeepCopy().Object["metadata"]
	out.SetLabels(labels)
	out.SetAnnotations(annotations)
	return out, nil
}
