// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/derive/internal/cel"
	"github.com/kube-go/sdk/derive/internal/definition"
	"github.com/kube-go/sdk/derive/internal/openapi"
)

// Problem is one validation error of a definition.
type Problem struct {
	// Field is the path of the invalid field, for example
	// spec.versions[0].schema.openAPIV3Schema.properties[spec].type. As in the server's response, schemas, subresources
	// and columns that are the same in all versions are at spec.validation, spec.subresources and
	// spec.additionalPrinterColumns. Field is empty if the problem does not belong to a field.
	Field string
	// Reason is the server's reason, for example metav1.CauseTypeFieldValueInvalid. It is empty for decoding errors,
	// such as an unknown field.
	Reason metav1.CauseType
	// Message is the server's message.
	Message string
}

// String returns the field and the message.
func (p Problem) String() string {
	if p.Field == "" {
		return p.Message
	}
	return p.Field + ": " + p.Message
}

// Check validates a new CustomResourceDefinition as an API server does, and returns all problems. It does not modify
// the definition.
func Check(crd *unstructured.Unstructured) []Problem {
	_, problems := check(crd, cel.NewEnvironment())
	return problems
}

// check implements Check. It also returns the definition with default names.
func check(crd *unstructured.Unstructured, env *cel.Environment) (*openapi.Definition, []Problem) {
	body, err := wire.MarshalJSON(crd.Object)
	if err != nil {
		return nil, []Problem{{Message: fmt.Sprintf("encode the definition: %v", err)}}
	}
	def, found := definition.Read(body, env)
	var problems []Problem
	for _, p := range found {
		problems = append(problems, Problem{p.Field, metav1.CauseType(p.Reason), p.Message})
	}
	return def, problems
}
