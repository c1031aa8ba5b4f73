// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package definition

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kube-go/sdk/derive/internal/cel"
	"github.com/kube-go/sdk/derive/internal/openapi"
)

// Problem is one thing that a server finds wrong in a definition.
type Problem struct {
	Field   string // "" when it is not about a field
	Reason  field.ErrorType
	Message string
}

// maxBytes is how many bytes etcd stores in one object, unless it is told otherwise.
const maxBytes = 3 << 19

// Read reads a definition as JSON without white space, and returns the problems that servers report. The definition has the
// defaults of servers; it is nil when it can't be read.
func Read(body []byte, env *cel.Environment) (*openapi.Definition, []Problem) {
	return read(body, env, false)
}

// Problems returns all problems in a definition, including those in rules that servers do not compile because a default or a
// schema below the rule is invalid.
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
			"is %s of %q; want CustomResourceDefinition of apiextensions.k8s.io/v1", gvk.Kind, gvk.GroupVersion())})
	}
	if len(body) > maxBytes {
		problems = append(problems, Problem{Message: fmt.Sprintf(
			"the definition has %d bytes, and servers store %d at most: shorten its descriptions, as kube-derive -max-size does", len(body), maxBytes)})
	}
	for _, text := range unknown {
		problems = append(problems, Problem{Message: text})
	}
	for _, err := range check(def, env, all) {
		problems = append(problems, Problem{err.Field, err.Type, err.ErrorBody()})
	}
	return def, problems
}
