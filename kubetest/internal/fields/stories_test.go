// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package fields_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/kubetest/internal/builtin"
	"github.com/kube-go/sdk/kubetest/internal/fields"
)

// story is a sequence of requests for one object. The responses of a server are recorded in a JSON file with the same
// name: most by version 1.37, those of the stories certificate, created and deployment by version 1.36.
type story struct {
	Definition *definition `json:"definition"`
	APIVersion string      `json:"apiVersion"`
	Kind       string      `json:"kind"`
	Objects    bool        `json:"objects"` // whether the objects are compared, and not only their managed fields
	Steps      []step      `json:"steps"`
}

// definition is what the tests need of a CustomResourceDefinition. Either all its versions have a status, or none.
type definition struct {
	Spec struct {
		Versions []struct {
			Name         string `json:"name"`
			Subresources struct {
				Status any `json:"status"`
			} `json:"subresources"`
		} `json:"versions"`
	} `json:"spec"`
}

type step struct {
	Do          string          `json:"do"` // create, update, patch or apply
	Type        string          `json:"type"`
	Version     string          `json:"version"`
	Subresource string          `json:"subresource"`
	Manager     string          `json:"manager"`
	Force       bool            `json:"force"`
	Validation  string          `json:"validation"`
	Body        json.RawMessage `json:"body"`
	Text        *string         `json:"text"` // instead of a body

	Unknown   []string `json:"unknown"`   // the unknown fields of the object, which the caller of Patch finds
	Elsewhere bool     `json:"elsewhere"` // whether another package produces the response
	NoObject  bool     `json:"noobject"`
}

func (s *step) body() []byte {
	if s.Text != nil {
		return []byte(*s.Text)
	}
	return s.Body
}

type response struct {
	Managed []string       `json:"managed,omitempty"`
	Object  map[string]any `json:"object,omitempty"`
	Error   *metav1.Status `json:"error,omitempty"`
}

func TestManagedFieldsAreThoseOfTheServer(t *testing.T) {
	files, err := filepath.Glob("testdata/stories/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("Glob() = %v, %v", files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			t.Parallel()
			var story story
			decode(t, file, func(data []byte) error { return yaml.Unmarshal(data, &story) })
			var want []response
			decode(t, strings.TrimSuffix(file, ".yaml")+".json", func(data []byte) error {
				return json.Unmarshal(data, &want)
			})
			server := newServer(t, &story)
			for i, step := range story.Steps {
				if step.Elsewhere {
					continue
				}
				got := server.respond(t, &story, &step)
				if diff := gocmp.Diff(scrub(t, want[i]), scrub(t, got)); diff != "" {
					t.Errorf("step %d, %s by %q: response differs from the server's (-server +here):\n%s\n%s",
						i, step.Do, step.Manager, step.body(), diff)
				}
			}
		})
	}
}

func decode(t *testing.T, file string, into func([]byte) error) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err == nil {
		err = into(data)
	}
	if err != nil {
		t.Fatalf("decode %s: %v", file, err)
	}
}

// widgets has the OpenAPI definitions that the server made of the CustomResourceDefinitions of the stories.
var widgets = sync.OnceValues(func() (map[string]*spec.Schema, error) {
	data, err := os.ReadFile("testdata/widgets.json")
	if err != nil {
		return nil, err
	}
	var schemas map[string]*spec.Schema
	err = json.Unmarshal(data, &schemas)
	return schemas, err
})

// schemas returns the definitions of the built-in kinds and of widgets.
func schemas(t *testing.T) map[string]*spec.Schema {
	t.Helper()
	custom, err := widgets()
	if err != nil {
		t.Fatalf("decode the schemas of widgets: %v", err)
	}
	schemas := maps.Clone(builtin.Schemas())
	maps.Copy(schemas, custom)
	return schemas
}

// server stores one object, as a server does that runs no validation.
type server struct {
	managers map[string]*fields.Manager // by API version
	custom   *fields.Custom
	live     *unstructured.Unstructured
}

func newServer(t *testing.T, story *story) *server {
	t.Helper()
	s := &server{managers: map[string]*fields.Manager{}}
	kinds := []schema.GroupVersionKind{schema.FromAPIVersionAndKind(story.APIVersion, story.Kind)}
	kinds = append(kinds, schema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"})
	if d := story.Definition; d != nil {
		s.custom = &fields.Custom{}
		for _, version := range d.Spec.Versions {
			s.custom.Status = version.Subresources.Status != nil
			kinds = append(kinds, kinds[0].GroupKind().WithVersion(version.Name))
		}
	}
	for _, kind := range kinds {
		m, err := fields.New(schemas(t), kind, s.custom)
		if err != nil {
			t.Fatalf("New(%s): %v", kind, err)
		}
		s.managers[kind.GroupVersion().String()] = m
	}
	return s
}

func (s *server) respond(t *testing.T, story *story, step *step) response {
	t.Helper()
	var obj *unstructured.Unstructured
	var err error
	if step.Subresource == "scale" {
		obj, err = s.scale(t, story, step)
	} else {
		obj, err = s.write(t, story, step)
	}
	if err != nil {
		status, ok := errors.AsType[*core.StatusError](err)
		if !ok {
			t.Fatalf("error of %s by %q = %T, want a *core.StatusError: %v", step.Do, step.Manager, err, err)
		}
		return response{Error: &status.Status}
	}
	obj.SetUID("u")
	s.live = s.convert(t, obj, story.APIVersion)
	result := s.live.DeepCopy()
	result.SetUID("")
	response := response{Managed: summary(t, result)}
	result.SetManagedFields(nil)
	if story.Objects && !step.NoObject {
		response.Object = result.Object
	}
	return response
}

func (s *server) write(t *testing.T, story *story, step *step) (*unstructured.Unstructured, error) {
	t.Helper()
	version := story.APIVersion
	if step.Version != "" {
		version = step.Version
	}
	live := s.convert(t, s.live, version)
	obj, err := request(t, s.managers[version], live, step)
	if err != nil {
		return nil, err
	}
	return s.prepare(story, obj, step.Subresource), nil
}

// convert returns obj in another version of a custom resource, with the defaults of stories and no unknown fields.
func (s *server) convert(t *testing.T, obj *unstructured.Unstructured, version string) *unstructured.Unstructured {
	t.Helper()
	if s.custom == nil || obj == nil {
		return obj.DeepCopy()
	}
	obj = obj.DeepCopy()
	obj.SetAPIVersion(version)
	group, name, _ := strings.Cut(version, "/")
	labels := strings.Split(group, ".")
	slices.Reverse(labels)
	known := schemas(t)[strings.Join(labels, ".")+"."+name+".Widget"].Properties["spec"]
	object, _, _ := unstructured.NestedMap(obj.Object, "spec")
	for field := range object {
		_, ok := known.Properties[field]
		if _, preserved := known.Extensions["x-kubernetes-preserve-unknown-fields"]; !ok && !preserved {
			unstructured.RemoveNestedField(obj.Object, "spec", field)
		}
	}
	ports, _, _ := unstructured.NestedSlice(obj.Object, "spec", "ports")
	for _, port := range ports {
		if fields := port.(map[string]any); fields["protocol"] == nil {
			fields["protocol"] = "TCP"
		}
	}
	if ports != nil {
		if err := unstructured.SetNestedSlice(obj.Object, ports, "spec", "ports"); err != nil {
			t.Fatal(err)
		}
	}
	return obj
}

// prepare resets what a request must not change.
func (s *server) prepare(story *story, obj *unstructured.Unstructured, subresource string) *unstructured.Unstructured {
	switch {
	case subresource == "status" && s.custom != nil:
		result := s.live.DeepCopy()
		move(result, obj, "status")
		result.SetManagedFields(obj.GetManagedFields())
		return result
	case subresource == "status":
		move(obj, s.live, "spec")
		if story.Kind == "Deployment" {
			obj.SetLabels(s.live.GetLabels())
		}
		obj.SetOwnerReferences(nil)
	case subresource == "" && (s.custom == nil || s.custom.Status):
		live := s.live
		if live == nil {
			live = &unstructured.Unstructured{}
		}
		move(obj, live, "status")
	}
	return obj
}

func move(to, from *unstructured.Unstructured, field string) {
	delete(to.Object, field)
	if value, ok := from.Object[field]; ok {
		to.Object[field] = value
	}
}

func (s *server) scale(t *testing.T, story *story, step *step) (*unstructured.Unstructured, error) {
	t.Helper()
	replicas := fields.Replicas{}
	for version := range s.managers {
		replicas[version] = nil
	}
	replicas[story.APIVersion] = []string{"spec", "replicas"}
	value, _, _ := unstructured.NestedInt64(s.live.Object, "spec", "replicas")
	scale := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "autoscaling/v1", "kind": "Scale",
		"metadata": map[string]any{"name": "x", "uid": "u"}, "spec": map[string]any{"replicas": value},
	}}
	if err := replicas.ToScale(s.live, scale); err != nil {
		return nil, err
	}
	result, err := request(t, s.managers["autoscaling/v1"], scale, step)
	if err != nil {
		return nil, err
	}
	obj := s.live.DeepCopy()
	value, _, _ = unstructured.NestedInt64(result.Object, "spec", "replicas")
	if err := unstructured.SetNestedField(obj.Object, value, "spec", "replicas"); err != nil {
		return nil, err
	}
	return obj, replicas.FromScale(result, obj)
}

func request(
	t *testing.T, m *fields.Manager, live *unstructured.Unstructured, step *step,
) (*unstructured.Unstructured, error) {
	t.Helper()
	if step.Do == "patch" || step.Do == "apply" {
		if err := fields.CheckPatch(patchTypes(cmp.Or(step.Type, step.Do)), step.body()); err != nil {
			return nil, err
		}
	}
	if step.Do == "apply" {
		config, problem, err := fields.Decode(step.body())
		if err != nil {
			return nil, err
		}
		result, err := m.Apply(live, config, step.Subresource, step.Manager, step.Force)
		if err == nil && step.Validation == metav1.FieldValidationStrict {
			err = problem
		}
		return result, err
	}
	obj := &unstructured.Unstructured{}
	if step.Do == "patch" {
		patched, err := m.Patch(live.Object, patchTypes(step.Type), step.body(), step.Validation)
		if err != nil {
			return nil, err
		}
		strict := step.Validation == metav1.FieldValidationStrict
		if strict && len(step.Unknown)+len(patched.Problems) > 0 {
			return nil, patched.InvalidFields(step.Unknown)
		}
		obj.Object = patched.Object
	} else if err := obj.UnmarshalJSON(step.Body); err != nil {
		t.Fatalf("decode %s: %v", step.Body, err)
	}
	manager := step.Manager
	if manager == "" {
		manager = "agent"
	}
	return m.Update(live, obj, step.Subresource, manager), nil
}

func patchTypes(name string) string {
	switch name {
	case "json":
		return "application/json-patch+json"
	case "merge":
		return "application/merge-patch+json"
	case "strategic":
		return "application/strategic-merge-patch+json"
	case "apply":
		return "application/apply-patch+yaml"
	default:
		return name
	}
}

// summary returns the managed fields of an object without times, one entry a string.
func summary(t *testing.T, obj *unstructured.Unstructured) []string {
	t.Helper()
	var entries []string
	for _, entry := range obj.GetManagedFields() {
		subresource := entry.Subresource
		if subresource == "" {
			subresource = "-"
		}
		var set any
		if err := json.Unmarshal(entry.FieldsV1.GetRawBytes(), &set); err != nil {
			t.Fatalf("decode fields of %s: %v", entry.Manager, err)
		}
		sorted, err := json.Marshal(set)
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, strings.Join(
			[]string{entry.Manager, string(entry.Operation), entry.APIVersion, subresource, string(sorted)}, " "))
	}
	slices.Sort(entries)
	return entries
}

// scrub removes what differs between two runs.
func scrub(t *testing.T, r response) any {
	t.Helper()
	if r.Error != nil {
		r.Error.Status = ""
		if r.Error.Details != nil {
			slices.SortStableFunc(r.Error.Details.Causes, func(a, b metav1.StatusCause) int {
				return strings.Compare(a.Message, b.Message)
			})
		}
	}
	delete(r.Object, "apiVersion")
	if metadata, ok := r.Object["metadata"].(map[string]any); ok {
		for _, name := range []string{"uid", "namespace", "resourceVersion", "creationTimestamp", "generation"} {
			delete(metadata, name)
		}
	}
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`).ReplaceAllString(string(data), "TIME")
	text = regexp.MustCompile(`Invalid value: \\".*?[^\\]\\": `).ReplaceAllString(text, "Invalid value: TEXT: ")
	var scrubbed any
	if err := json.Unmarshal([]byte(text), &scrubbed); err != nil {
		t.Fatal(err)
	}
	return scrubbed
}
