// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package reflected

import (
	"reflect"
	"strings"

	"github.com/invopop/jsonschema"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/derive/internal/structural"
)

// mirror returns a type whose struct tags contain the keywords that a common type of Kubernetes has in comments, or the
// type itself.
func mirror(t reflect.Type) reflect.Type {
	switch t {
	case reflect.TypeFor[metav1.Condition]():
		return reflect.TypeFor[condition]()
	case reflect.TypeFor[metav1.LabelSelector]():
		return reflect.TypeFor[labelSelector]()
	case reflect.TypeFor[metav1.LabelSelectorRequirement]():
		return reflect.TypeFor[labelSelectorRequirement]()
	}
	return t
}

// optional reports whether a field of a Kubernetes type is optional according to its comment, although its json tag
// does not have omitempty. It contains the types that are common in specs.
func optional(t reflect.Type, field string) bool {
	path, ok := strings.CutPrefix(t.PkgPath(), "k8s.io/api/")
	if !ok {
		return false
	}
	switch path + "." + t.Name() + "." + field {
	case "apps/v1.StatefulSetOrdinals.start", "apps/v1.StatefulSetSpec.serviceName",
		"batch/v1.PodFailurePolicyOnPodConditionsPattern.status",
		"core/v1.AzureFilePersistentVolumeSource.secretNamespace", "core/v1.GRPCAction.service", "core/v1.ProjectedVolumeSource.sources",
		"core/v1.TypedLocalObjectReference.apiGroup", "core/v1.TypedObjectReference.apiGroup",
		"networking/v1.IngressClassParametersReference.scope", "networking/v1.NetworkPolicySpec.podSelector",
		"rbac/v1.RoleRef.apiGroup",
		"resource/v1.CapacityRequestPolicy.default", "resource/v1.DeviceClaim.requests", "resource/v1.ResourceClaimSpec.devices",
		"resource/v1.ResourceClaimTemplateSpec.spec":
		return true
	}
	return false
}

type condition struct {
	Type               string                 `json:"type" jsonschema:"maxLength=316,pattern=^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"`
	Status             metav1.ConditionStatus `json:"status" jsonschema:"enum=True,enum=False,enum=Unknown"`
	ObservedGeneration int64                  `json:"observedGeneration,omitempty" jsonschema:"minimum=0"`
	LastTransitionTime metav1.Time            `json:"lastTransitionTime"`
	Reason             string                 `json:"reason" jsonschema:"minLength=1,maxLength=1024,pattern=^[A-Za-z]([A-Za-z0-9_\\,:]*[A-Za-z0-9_])?$"`
	Message            string                 `json:"message" jsonschema:"maxLength=32768"`
}

// SwaggerDoc returns the documentation of the original type.
func (condition) SwaggerDoc() map[string]string { return metav1.Condition{}.SwaggerDoc() }

type labelSelector struct {
	MatchLabels      map[string]string                 `json:"matchLabels,omitempty"`
	MatchExpressions []metav1.LabelSelectorRequirement `json:"matchExpressions,omitempty" jsonschema_extras:"x-kubernetes-list-type=atomic"`
}

// SwaggerDoc returns the documentation of the original type.
func (labelSelector) SwaggerDoc() map[string]string { return metav1.LabelSelector{}.SwaggerDoc() }

// JSONSchemaExtend sets the keywords of the type.
func (labelSelector) JSONSchemaExtend(s *jsonschema.Schema) {
	s.Extras = map[string]any{structural.KeyMapType: "atomic"}
}

type labelSelectorRequirement struct {
	Key      string                       `json:"key"`
	Operator metav1.LabelSelectorOperator `json:"operator"`
	Values   []string                     `json:"values,omitempty" jsonschema_extras:"x-kubernetes-list-type=atomic"`
}

// SwaggerDoc returns the documentation of the original type.
func (labelSelectorRequirement) SwaggerDoc() map[string]string {
	return metav1.LabelSelectorRequirement{}.SwaggerDoc()
}
