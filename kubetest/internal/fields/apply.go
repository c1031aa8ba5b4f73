// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package fields

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// CheckPatch returns an error for the body of a patch that is not JSON, or that is not YAML if it is to be applied. The
// server checks this before it reads the object.
func CheckPatch(contentType string, body []byte) error {
	if types.PatchType(contentType) != types.ApplyYAMLPatchType {
		if !json.Valid(body) {
			return badRequest("invalid JSON patch")
		}
		return nil
	}
	if _, err := yaml.ToJSON(body); err != nil {
		return badRequest("error encoding patch: " + err.Error())
	}
	return nil
}

// Decode decodes the body of an apply request. The problem is the error of strict field validation, such as a duplicate
// field, or nil. The server returns the errors of Apply first.
func Decode(body []byte) (config *unstructured.Unstructured, problem, err error) {
	config = &unstructured.Unstructured{Object: map[string]any{}}
	if err := yaml.Unmarshal(body, &config.Object); err != nil {
		return nil, nil, badRequest("error decoding patch: " + err.Error())
	}
	if err := yaml.UnmarshalStrict(body, &map[string]any{}); err != nil {
		problem = badRequest("error strict decoding patch: " + err.Error())
	}
	return config, problem, nil
}
