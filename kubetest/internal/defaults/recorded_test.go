// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package defaults_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/kubetest/internal/defaults"
	"github.com/kube-go/sdk/kubetest/internal/typed"
)

var record = flag.Bool("record", false, "replace the recorded objects by those of the server of KUBECONFIG")

const (
	namespace = "kubetest-defaults"
	uid       = "the-uid" // of all objects
)

// TestNewObjectsAreThoseOfTheServer compares the objects that result from the manifests with those of a server. To
// record them, set KUBECONFIG and run: go test ./kubetest/internal/defaults -run TestNewObjects -record.
func TestNewObjectsAreThoseOfTheServer(t *testing.T) {
	paths, err := filepath.Glob("testdata/manifests/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if *record {
		recordAll(t, paths)
	}
	for _, path := range paths {
		manifests, recorded := documents(t, path), documents(t, recordedPath(path))
		if len(manifests) != len(recorded) {
			t.Fatalf("%s has %d objects, and the recording %d: record it again", path, len(manifests), len(recorded))
		}
		for i, manifest := range manifests {
			k := kindOf(t, manifest)
			t.Run(k.GroupVersion().String()+" "+k.Kind+" "+manifest.name(), func(t *testing.T) {
				got := created(t, k, manifest)
				omit(got, manifest.object(t))
				if diff := cmp.Diff(recorded[i].object(t), got); diff != "" {
					t.Errorf("the object differs (-server +got):\n%s", diff)
				}
			})
		}
	}
}

// created returns the object that results from a manifest.
func created(t *testing.T, k kind, manifest document) map[string]any {
	t.Helper()
	obj := decoded(t, k, manifest)
	defaults.Set(k.GroupVersionKind, obj.Object)
	switch {
	case k.Kind == "Node":
	case k.status:
		obj.Object["status"] = map[string]any{} // clients can't create it
	default:
		delete(obj.Object, "status") // of a Go type that is newer than the recording
	}
	obj.SetUID(uid)
	defaults.Prepare(k.GroupVersionKind, obj.Object)
	return obj.Object
}

// decoded returns the object in a manifest as the server decodes it, without defaults.
func decoded(t *testing.T, k kind, manifest document) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{Object: manifest.object(t)}
	if typed.Known(k.GroupVersionKind) {
		var unknown []string
		var err error
		obj, unknown, err = typed.Decode([]byte(manifest), "application/yaml", k.GroupVersionKind, true)
		if err != nil || len(unknown) > 0 {
			t.Fatalf("Decode() = %v, %v", unknown, err)
		}
	}
	if k.namespaced {
		obj.SetNamespace(namespace)
	}
	return obj
}

// A document is an object in YAML.
type document string

// documents returns the objects in a file.
func documents(t *testing.T, path string) []document {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var list []document
	for text := range strings.SplitSeq(string(data), "\n---\n") {
		list = append(list, document(text))
	}
	return list
}

func recordedPath(path string) string {
	return filepath.Join("testdata", "recorded", filepath.Base(path))
}

// object returns the content of a document.
func (d document) object(t *testing.T) map[string]any {
	t.Helper()
	data, err := yaml.YAMLToJSONStrict([]byte(d))
	if err != nil {
		t.Fatalf("%v in\n%s", err, d)
	}
	return parse(t, data)
}

func (d document) name() string {
	var obj struct{ Metadata struct{ Name string } }
	_ = yaml.Unmarshal([]byte(d), &obj) // an invalid document fails elsewhere
	return obj.Metadata.Name
}

func parse(t *testing.T, data []byte) map[string]any {
	t.Helper()
	obj := map[string]any{}
	if err := utiljson.Unmarshal(data, &obj); err != nil {
		t.Fatalf("%v in\n%s", err, data)
	}
	return obj
}

// recordAll creates the objects of the manifests on a server as dry runs, and stores the responses.
func recordAll(t *testing.T, paths []string) {
	t.Helper()
	c, err := client.New(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	ns := map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": namespace}}
	send(t, c, http.MethodPost, "/api/v1/namespaces", ns)
	t.Cleanup(func() { send(t, c, http.MethodDelete, "/api/v1/namespaces/"+namespace, nil) })
	for _, path := range paths {
		var texts []string
		for _, manifest := range documents(t, path) {
			texts = append(texts, response(t, c, manifest))
		}
		if err := os.WriteFile(recordedPath(path), []byte(strings.Join(texts, "---\n")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// response returns the server's response to the creation of an object.
func response(t *testing.T, c *client.Client, manifest document) string {
	t.Helper()
	k, content := kindOf(t, manifest), manifest.object(t)
	data := send(t, c, http.MethodPost, k.path+"?dryRun=All&fieldValidation=Strict", content)
	obj := &unstructured.Unstructured{Object: parse(t, data)}
	if was := obj.GetUID(); was != "" {
		obj.Object = parse(t, bytes.ReplaceAll(data, []byte(was), []byte(uid)))
	}
	omit(obj.Object, content)
	text, err := yaml.Marshal(obj.Object)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// send sends a request with an object.
func send(t *testing.T, c *client.Client, method, path string, obj map[string]any) []byte {
	t.Helper()
	body, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(context.Background(), method, path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	resp, err := c.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode >= http.StatusBadRequest {
		t.Errorf("%s %s: %s\n%s", method, path, data, body)
		return []byte("{}")
	}
	return data
}

// kind is the kind of an object.
type kind struct {
	schema.GroupVersionKind
	namespaced, status bool
	path               string // of its objects in the namespace of the tests
}

func kindOf(t *testing.T, manifest document) kind {
	t.Helper()
	obj := &unstructured.Unstructured{Object: manifest.object(t)}
	k, err := lookup(obj.GroupVersionKind())
	if err != nil {
		t.Fatal(err)
	}
	return k
}
