// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"

	"sigs.k8s.io/yaml"

	"github.com/kube-go/sdk/kube"
)

// documents prints complete objects: a single named object on its own, and all others as a list.
func (p *printer) documents(ctx context.Context, resources []kube.Resource) error {
	items := []any{} // not nil, which would be encoded as null
	for _, res := range resources {
		objects := p.objects(res)
		for _, name := range p.options.names {
			obj, err := objects.Get(ctx, name, nil)
			if err != nil {
				return err
			}
			items = append(items, obj.Object)
		}
		if len(p.options.names) > 0 {
			continue
		}
		for obj, err := range objects.All(ctx, &kube.ListOptions{LabelSelector: p.options.selector}) {
			if err != nil {
				return err
			}
			items = append(items, obj.Object)
		}
	}
	var document any = map[string]any{"apiVersion": "v1", "kind": "List", "items": items}
	if len(items) == 1 && len(p.options.names) == 1 {
		document = items[0]
	}
	text, err := yaml.Marshal(document)
	if p.options.format == "json" {
		text, err = json.MarshalIndent(document, "", "    ")
		text = append(text, '\n')
	}
	if err != nil {
		return err
	}
	_, err = p.out.Write(text)
	return err
}
