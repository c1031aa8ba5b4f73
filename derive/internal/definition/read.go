// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package definition

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kube-go/sdk/derive/internal/cel"
	"github.com/kube-go/sdk/derive/internal/openapi"
)

// Problem is one validation error of a definition.
type Problem struct {
	Field   string // empty if the problem does not belong to a field
	Reason  field.ErrorType
	Message string
}

// Unapproved reports whether the problem is that a group of the Kubernetes project needs the approval annotation.
func (p Problem) Unapproved() bool {
	return p.Reason == field.ErrorTypeRequired && strings.Contains(p.Field, approved)
}

// maxBytes is the default maximum size of an object in etcd.
const maxBytes = 3 << 19

// Read decodes and validates a definition, which must be JSON without white space, and returns the problems that an API
// server reports. The returned definition has the server's defaults. It is nil if the JSON can't be decoded.
func Read(body []byte, env *cel.Environment) (*openapi.Definition, []Problem) {
	return read(body, env, false)
}

// Problems returns all problems of a definition. In contrast to Read, it includes problems of rules that servers do not
// compile because a default or a subschema is invalid.
func Problems(body []byte, env *cel.Environment) []Problem {
	_, problems := read(body, env, true)
	return problems
}

func read(body []byte, env *cel.Environment, all bool) (*openapi.Definition, []Problem) {
	def, unknown, err := openapi.Decode(body)
	if err != nil {
		return nil, []Problem{{Message: fmt.Sprintf("decode the definition: %v", err)}}
	}
	var problems []Problem
	if gvk := def.GroupVersionKind(); gvk.Kind != "CustomResourceDefinition" || gvk.GroupVersion().String() != "apiextensions.k8s.io/v1" {
		problems = append(problems, Problem{Field: "kind", Message: fmt.Sprintf(
			"is %s of %q, must be CustomResourceDefinition of apiextensions.k8s.io/v1", gvk.Kind, gvk.GroupVersion())})
	}
	if len(body) > maxBytes {
		problems = append(problems, Problem{Message: fmt.Sprintf(
			"the definition has %d bytes, but API servers store at most %d bytes: shorten its descriptions, for example with kube-derive -max-size", len(body), maxBytes)})
	}
	for _, text := range unknown {
		problems = append(problems, Problem{Message: text})
	}
	for _, err := range check(def, env, all) {
		problems = append(problems, Problem{err.Field, err.Type, err.ErrorBody()})
	}
	return def, problems
}
