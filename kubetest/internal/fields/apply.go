// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package fields

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// Decode decodes the body of an apply request. The problem is the error of strict field validation, such as a duplicate
// field, or nil. The server returns the errors of Apply first.
func Decode(body []byte) (config *unstructured.Unstructured, problem, err error) {
	config = &unstructured.Unstructured{Object: map[string]any{}}
	if err := yaml.Unmarshal(body, &config.Object); err != nil {
		return nil, nil, badRequest("error decoding YAML: " + err.Error())
	}
	if err := yaml.UnmarshalStrict(body, &map[string]any{}); err != nil {
		problem = badRequest("error strict decoding YAML: " + err.Error())
	}
	return config, problem, nil
}
