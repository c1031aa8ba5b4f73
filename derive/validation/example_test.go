// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package validation_test

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/kube-go/sdk/derive/generate/testdata/document"
	"github.com/kube-go/sdk/derive/validation"
)

const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gates.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Gate, plural: gates}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [width]
            properties:
              width: {type: integer, minimum: 1}
              color:
                type: string
                maxLength: 20
                x-kubernetes-validations:
                - {rule: self == oldSelf, message: can't be repainted}
`

func gates() *unstructured.Unstructured {
	crd := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(definition), &crd.Object); err != nil {
		panic(err)
	}
	return crd
}

func ExampleCheck() {
	crd := gates()
	crd.SetName("gate.example.com")
	for _, problem := range validation.Check(crd) {
		fmt.Println(problem)
	}
	// Output:
	// metadata.name: Invalid value: "gate.example.com": must be spec.names.plural+"."+spec.group
}

func ExampleValidator_Create() {
	v, err := validation.New(gates(), "v1", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(v.Create([]byte("metadata: {name: north}\nspec: {width: 0}")))
	// Output:
	// invalid: server said: Gate.example.com "north" is invalid: spec.width: Invalid value: 0: spec.width in body should be greater than or equal to 1
}

func ExampleValidator_Update() {
	v, err := validation.New(gates(), "v1", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	green := []byte("metadata: {name: north}\nspec: {width: 3, color: green}")
	blue := []byte("metadata: {name: north}\nspec: {width: 3, color: blue}")
	fmt.Println(v.Update(blue, green))
	// Output:
	// invalid: server said: Gate.example.com "north" is invalid: spec.color: Invalid value: "blue": can't be repainted
}

func ExampleFor() {
	v, err := validation.For[document.Document](nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(v.Create(document.NewDocument("prod", "readme", document.DocumentSpec{Title: "Read me"})))
	// Output:
	// <nil>
}

func ExampleValidator_Mutations() {
	v, err := validation.New(gates(), "v1", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	obj, err := v.Sample(true)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(obj.Object["spec"])
	for m := range v.Mutations(obj) {
		fmt.Printf("%s: %s\n", m.Rule, m.Cause.Message)
	}
	// Output:
	// map[color:example width:1]
	// spec.type: Invalid value: "string": spec in body must be of type object: "string"
	// spec.required[width]: Required value
	// spec.color.type: Invalid value: "integer": spec.color in body must be of type string: "integer"
	// spec.color.maxLength: Too long: may not be more than 20 bytes
	// spec.color.x-kubernetes-validations[0]: Invalid value: "another": can't be repainted
	// spec.width.type: Invalid value: "string": spec.width in body must be of type integer: "string"
	// spec.width.minimum: Invalid value: 0: spec.width in body should be greater than or equal to 1
}
