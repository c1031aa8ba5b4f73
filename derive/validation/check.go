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

// Problem is one thing that a server finds wrong in a definition.
type Problem struct {
	// Field is where it is, such as spec.versions[0].schema.openAPIV3Schema.properties[spec].type. What is the same in all
	// versions is at spec.validation, spec.subresources and spec.additionalPrinterColumns, as in a server's answer. It is
	// empty when the problem is not that of a field.
	Field string
	// Reason is the server's reason, such as metav1.CauseTypeFieldValueInvalid. It is empty for what is wrong before the
	// server looks at values, such as an unknown field.
	Reason metav1.CauseType
	// Message is the server's message.
	Message string
}

// String says where it is and what it is.
func (p Problem) String() string {
	if p.Field == "" {
		return p.Message
	}
	return p.Field + ": " + p.Message
}

// Check says why a server would refuse a new CustomResourceDefinition: all there is, or nothing when it takes it. The
// definition is not changed.
func Check(crd *unstructured.Unstructured) []Problem {
	_, problems := check(crd, cel.NewEnvironment())
	return problems
}

// check is Check that also returns the definition, with the names that servers fill in.
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
