// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"maps"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kube-go/sdk/derive/validation"
	"github.com/kube-go/sdk/kube"
)

// definitionCase is a row of definitions.yaml.
type definitionCase struct {
	Name     string           `json:"name"`
	Patch    map[string]any   `json:"patch,omitempty"`
	Version  map[string]any   `json:"version,omitempty"`
	Versions []map[string]any `json:"versions,omitempty"`
	Root     map[string]any   `json:"root,omitempty"`
	Spec     map[string]any   `json:"spec,omitempty"`
	Differs  string           `json:"differs,omitempty"` // why the messages differ; empty means that they must not
}

// definition returns the definition that the row describes.
func (d definitionCase) definition() *unstructured.Unstructured {
	text := map[string]any{"type": "string"}
	properties := map[string]any{"a": text, "list": map[string]any{"type": "array", "items": text}}
	for _, name := range []string{"f1", "f2", "f3", "f4", "f5", "f6", "f7", "f8", "f9"} {
		properties[name] = text
	}
	schema := ofSpec(map[string]any{"type": "object", "properties": properties})
	switch {
	case d.Root != nil:
		schema = d.Root
	case d.Spec != nil:
		schema = ofSpec(d.Spec)
	}
	crd := thing("checks.example.com", "Thing", schema)
	spec := crd.Object["spec"].(map[string]any)
	base := spec["versions"].([]any)[0].(map[string]any)
	maps.Copy(base, d.Version)
	if d.Versions != nil {
		var list []any
		for _, v := range d.Versions {
			next := runtime.DeepCopyJSON(base)
			merge(next, v)
			list = append(list, next)
		}
		spec["versions"] = list
	}
	merge(crd.Object, d.Patch)
	return crd
}

// TestValidationOfDefinitionsMatchesServer checks that validation.Check and the server agree on definitions: both
// accept them, or both report the same causes.
func TestValidationOfDefinitionsMatchesServer(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	crds := kube.Dynamic(c, kube.CRDResource())
	var rows []definitionCase
	readTable(t, "definitions.yaml", &rows)
	enforced := enforcementOf(t, c)
	good, bad := 0, 0
	file := recorded[definitionRow]{name: "definitions.jsonl"}
	for _, row := range rows {
		t.Run(row.Name, func(t *testing.T) {
			crd := row.definition()
			problems := validation.Check(enforced.of(crd))
			_, err := crds.Create(limit(t), crd, &kube.CreateOptions{DryRun: true, FieldValidation: metav1.FieldValidationStrict})
			if (err == nil) != (len(problems) == 0) {
				t.Fatalf("the server reports %v, Check reports %v", err, problems)
			}
			if err == nil {
				good++
				file.add(definitionRow{Name: row.Name, Definition: crd.Object})
				return
			}
			bad++
			server := verdictOf(t, err)
			saved := server
			if row.Differs != "" { // its messages are not compared
				saved = server.withoutMessages()
			}
			file.add(definitionRow{row.Name, crd.Object, &saved, row.Differs})
			if server.Reason == metav1.StatusReasonBadRequest {
				return // the server could not decode it, so the messages are those of decoders
			}
			var ours verdict
			ours.Reason = metav1.StatusReasonInvalid
			for _, p := range problems {
				ours.Causes = append(ours.Causes, metav1.StatusCause{Type: p.Reason, Field: p.Field, Message: p.Message})
			}
			ours.tidy()
			enforced.compare(t, server, ours, row.Differs)
		})
	}
	file.write(t)
	if good < 50 || bad < 100 {
		t.Errorf("%d definitions are valid and %d are invalid, want at least 50 and 100", good, bad)
	}
}
