// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"encoding/json"
	"fmt"

	"github.com/kube-go/sdk/derive/internal/kind"
)

// conversion returns spec.conversion, or nil if no version defines it. Only one version can define it.
func (a *assembler) conversion(versions []Version) map[string]any {
	var first *kind.Conversion
	for _, v := range versions {
		switch {
		case v.Conversion == nil:
		case first == nil:
			first = v.Conversion
		default:
			a.report(v.Conversion.Pos, fmt.Sprintf("//kube:conversion is already set on another version, at %s: it applies to all versions, so set it once",
				position(first.Pos)))
		}
	}
	switch {
	case first == nil:
		return nil
	case !first.Webhook:
		return map[string]any{"strategy": "None"}
	}
	client := map[string]any{"url": first.URL}
	if first.URL == "" {
		service := map[string]any{"namespace": first.Namespace, "name": first.Service, "path": first.Path}
		if first.Port != "" {
			service["port"] = json.Number(first.Port)
		}
		client = map[string]any{"service": service}
	}
	return map[string]any{
		"strategy": "Webhook",
		"webhook":  map[string]any{"clientConfig": client, "conversionReviewVersions": first.Reviews},
	}
}
