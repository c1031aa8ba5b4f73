// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package evolution

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/derive/internal/structural"
)

// definition contains the fields of a CustomResourceDefinition that are compared.
type definition struct {
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		Group    string `json:"group"`
		Scope    string `json:"scope"`
		Preserve bool   `json:"preserveUnknownFields"`
		Names    struct {
			Kind       string   `json:"kind"`
			ListKind   string   `json:"listKind"`
			Plural     string   `json:"plural"`
			Singular   string   `json:"singular"`
			ShortNames []string `json:"shortNames"`
			Categories []string `json:"categories"`
		} `json:"names"`
		Versions   []version `json:"versions"`
		Conversion struct {
			Strategy string  `json:"strategy"`
			Webhook  webhook `json:"webhook"`
		} `json:"conversion"`
	} `json:"spec"`
	Status struct {
		StoredVersions []string `json:"storedVersions"`
	} `json:"status"`
}

// version is a version of a definition.
type version struct {
	Name       string `json:"name"`
	Served     bool   `json:"served"`
	Storage    bool   `json:"storage"`
	Deprecated bool   `json:"deprecated"`
	Schema     struct {
		OpenAPIV3Schema *structural.Schema `json:"openAPIV3Schema"`
	} `json:"schema"`
	Subresources struct {
		Status *struct{} `json:"status"`
		Scale  *scale    `json:"scale"`
	} `json:"subresources"`
	Columns    []column `json:"additionalPrinterColumns"`
	Selectable []struct {
		JSONPath string `json:"jsonPath"`
	} `json:"selectableFields"`
}

// webhook is the configuration of the conversion webhook. It has no CA bundle, because other programs often inject it.
type webhook struct {
	ReviewVersions []string `json:"conversionReviewVersions"`
	Client         struct {
		URL     string   `json:"url,omitempty"`
		Service *service `json:"service,omitempty"`
	} `json:"clientConfig"`
}

type service struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Path      string `json:"path,omitempty"`
	Port      int32  `json:"port,omitempty"`
}

type scale struct {
	Spec     string `json:"specReplicasPath"`
	Status   string `json:"statusReplicasPath"`
	Selector string `json:"labelSelectorPath,omitempty"`
}

type column struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	Format   string `json:"format,omitempty"`
	Priority int32  `json:"priority,omitempty"`
	JSONPath string `json:"jsonPath"`
}

// read decodes a definition.
func read(crd *unstructured.Unstructured) (*definition, error) {
	switch {
	case crd == nil:
		return nil, errors.New("definition is nil")
	case crd.GetAPIVersion() != "apiextensions.k8s.io/v1" || crd.GetKind() != "CustomResourceDefinition":
		return nil, fmt.Errorf("object is a %s of %s, not a CustomResourceDefinition of apiextensions.k8s.io/v1", crd.GetKind(), crd.GetAPIVersion())
	case crd.GetName() == "":
		return nil, errors.New("metadata.name is empty: set it to spec.names.plural, a dot, and spec.group")
	}
	object := crd.DeepCopy().Object
	regularize(object)
	data, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	d := &definition{}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(d); err != nil {
		return nil, fmt.Errorf("%s: %w", crd.GetName(), err)
	}
	if len(d.Spec.Versions) == 0 {
		return nil, fmt.Errorf("%s: spec.versions is empty", crd.GetName())
	}
	seen := map[string]bool{}
	for _, v := range d.Spec.Versions {
		if seen[v.Name] {
			return nil, fmt.Errorf("%s: spec.versions has duplicate version %q", crd.GetName(), v.Name)
		}
		seen[v.Name] = true
	}
	// The server sets the defaults of these fields, so only one of the definitions may have them.
	names := &d.Spec.Names
	names.ListKind = cmp.Or(names.ListKind, names.Kind+"List")
	names.Singular = cmp.Or(names.Singular, strings.ToLower(names.Kind))
	if s := d.Spec.Conversion.Webhook.Client.Service; s != nil {
		s.Port = cmp.Or(s.Port, 443)
	}
	for i := range d.Spec.Versions { // the server prints this column of a version without columns
		if v := &d.Spec.Versions[i]; len(v.Columns) == 0 {
			v.Columns = []column{{Name: "Age", Type: "date", JSONPath: ".metadata.creationTimestamp"}}
		}
	}
	return d, nil
}

func (d *definition) version(name string) *version {
	for i := range d.Spec.Versions {
		if d.Spec.Versions[i].Name == name {
			return &d.Spec.Versions[i]
		}
	}
	return nil
}

// storage returns the storage version, or nil if no version is marked as such.
func (d *definition) storage() *version {
	for i := range d.Spec.Versions {
		if d.Spec.Versions[i].Storage {
			return &d.Spec.Versions[i]
		}
	}
	return nil
}

// converts reports whether a webhook converts between versions. Otherwise the server changes apiVersion only.
func (d *definition) converts() bool { return d.Spec.Conversion.Strategy == "Webhook" }

// regularize replaces shorthands by schemas. It replaces "additionalProperties: true" by
// x-kubernetes-preserve-unknown-fields, and null by the empty schema. It removes "additionalProperties: false", which
// has no effect in a structural schema.
func regularize(v any) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			regularize(item)
		}
	case map[string]any:
		if fields, ok := v["properties"].(map[string]any); ok {
			for name, field := range fields {
				if field == nil {
					fields[name] = map[string]any{}
				}
			}
		}
		for _, name := range []string{"allOf", "anyOf", "oneOf"} {
			list, _ := v[name].([]any)
			for i, schema := range list {
				if schema == nil {
					list[i] = map[string]any{}
				}
			}
		}
		if allowed, ok := v["additionalProperties"].(bool); ok {
			delete(v, "additionalProperties")
			if allowed {
				v[structural.KeyPreserveUnknownFields] = true
			}
		}
		for _, inside := range v {
			regularize(inside)
		}
	}
}
