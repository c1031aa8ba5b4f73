// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package definition

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kube-go/sdk/derive/internal/openapi"
)

// internalVersions returns a list of versions in the form of the server's messages, which have the field names of its
// internal type, and omit properties that all versions share. Unlike the server's messages, it has no schemas.
func internalVersions(versions []openapi.Version, all shared) any {
	type version struct {
		Name                     string
		Served                   bool
		Storage                  bool
		Deprecated               bool
		DeprecationWarning       *string
		Schema                   any
		Subresources             any
		AdditionalPrinterColumns any
		SelectableFields         any
	}
	if !all.schema && len(versions) > 0 {
		return field.OmitValueType{}
	}
	var list []version
	for _, v := range versions {
		shown := version{
			Name: v.Name, Served: v.Served, Storage: v.Storage,
			Deprecated: v.Deprecated, DeprecationWarning: v.DeprecationWarning,
		}
		if !all.subresources && v.Subresources != nil {
			shown.Subresources = v.Subresources
		}
		if !all.columns && len(v.Columns) > 0 {
			shown.AdditionalPrinterColumns = v.Columns
		}
		if !all.fields && len(v.SelectableFields) > 0 {
			shown.SelectableFields = v.SelectableFields
		}
		list = append(list, shown)
	}
	if versions != nil && list == nil {
		return []version{}
	}
	return list
}

// internalRule returns a rule in the form of the server's messages, which have the field names of its internal type.
func internalRule(r openapi.Rule) any {
	return struct {
		Rule              string
		Message           string
		MessageExpression string
		Reason            *string
		FieldPath         string
		OptionalOldSelf   *bool
	}(r)
}

// internalItems returns invalid items in the form of the server's messages.
func internalItems(i *openapi.Items) any {
	return struct {
		Schema      any
		JSONSchemas []*openapi.Schema
	}{JSONSchemas: i.Schemas}
}
