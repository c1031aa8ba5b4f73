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

// mirror returns a type that says in struct tags what one of Kubernetes' own says in comments; the type itself when there
// is none. They are those that most kinds have in them.
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

// optional reports whether a field of a type of Kubernetes may be left out, which its tag does not say and a comment does.
// They are those of the types that one embeds in a spec. Go writes such fields always; people need not.
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

// SwaggerDoc documents it.
func (condition) SwaggerDoc() map[string]string { return metav1.Condition{}.SwaggerDoc() }

type labelSelector struct {
	MatchLabels      map[string]string                 `json:"matchLabels,omitempty"`
	MatchExpressions []metav1.LabelSelectorRequirement `json:"matchExpressions,omitempty" jsonschema_extras:"x-kubernetes-list-type=atomic"`
}

// SwaggerDoc documents it.
func (labelSelector) SwaggerDoc() map[string]string { return metav1.LabelSelector{}.SwaggerDoc() }

// JSONSchemaExtend says what applies to the whole of it.
func (labelSelector) JSONSchemaExtend(s *jsonschema.Schema) {
	s.Extras = map[string]any{structural.KeyMapType: "atomic"}
}

type labelSelectorRequirement struct {
	Key      string                       `json:"key"`
	Operator metav1.LabelSelectorOperator `json:"operator"`
	Values   []string                     `json:"values,omitempty" jsonschema_extras:"x-kubernetes-list-type=atomic"`
}

// SwaggerDoc documents it.
func (labelSelectorRequirement) SwaggerDoc() map[string]string {
	return metav1.LabelSelectorRequirement{}.SwaggerDoc()
}
