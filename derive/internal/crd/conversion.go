// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/kube-go/sdk/derive/internal/kind"
)

// conversion makes the stanza about conversion, nil when no version says anything. Those that do must agree.
func (a *assembler) conversion(versions []Version) map[string]any {
	var said *kind.Conversion
	for _, v := range versions {
		switch {
		case v.Conversion == nil:
		case said == nil:
			said = v.Conversion
		default:
			a.report(v.Conversion.Pos, fmt.Sprintf("//kube:conversion stands on another version too, at %s:%d; it belongs to all versions, so say it once",
				filepath.Base(said.Pos.Filename), said.Pos.Line))
		}
	}
	switch {
	case said == nil:
		return nil
	case !said.Webhook:
		return map[string]any{"strategy": "None"}
	}
	client := map[string]any{"url": said.URL}
	if said.URL == "" {
		service := map[string]any{"namespace": said.Namespace, "name": said.Service, "path": said.Path}
		if said.Port != "" {
			service["port"] = json.Number(said.Port)
		}
		client = map[string]any{"service": service}
	}
	return map[string]any{
		"strategy": "Webhook",
		"webhook":  map[string]any{"clientConfig": client, "conversionReviewVersions": said.Reviews},
	}
}
