// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "k8s.io/apimachinery/pkg/runtime/serializer/json"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/internal/apitest"
	"github.com/kube-go/sdk/core/wire"
)

// problemsOf returns the problems that strict decoding reports.
func problemsOf(t testing.TB, body string, obj core.Object) []string {
	t.Helper()
	err := wire.UnmarshalStrict([]byte(body), wire.MediaTypeJSON, obj)
	if err == nil {
		return nil
	}
	strict, ok := errors.AsType[*wire.StrictError](err)
	if !ok {
		t.Fatalf("UnmarshalStrict(%s) = %v, want a StrictError", body, err)
	}
	var problems []string
	for _, p := range strict.Problems {
		problems = append(problems, p.String())
	}
	return problems
}

func TestUnmarshalStrictReportsAllProblems(t *testing.T) {
	tests := []struct {
		name string
		in   string
		obj  core.Object
		want []string
	}{
		{"a valid object", `{"kind":"Pod","spec":{"containers":[{"name":"c"}]}}`, new(corev1.Pod), nil},
		{"an unknown field", `{"spec":{"containers":[{},{"imagePullPolcy":"Always"}]}}`, new(corev1.Pod), []string{"spec.containers[1].imagePullPolcy: unknown field"}},
		{"a miscased field", `{"Spec":{"replicas":1},"metadata":{"Name":"a"}}`, new(appsv1.Deployment), []string{"Spec: miscased field, want spec", "metadata.Name: miscased field, want name"}},
		{"a duplicate field", `{"spec":{"replicas":1,"replicas":2,"replicas":3}}`, new(appsv1.Deployment), []string{"spec.replicas: duplicate field", "spec.replicas: duplicate field"}},
		{"a duplicate label", `{"metadata":{"labels":{"app.io/a":"1","app.io/a":"2"}}}`, new(corev1.Pod), []string{`metadata.labels["app.io/a"]: duplicate field`}},
		{"a duplicate in an unknown field", `{"x":{"a":1,"a":2}}`, new(corev1.Pod), []string{"x: unknown field", "x.a: duplicate field"}},
		{"names in maps are not checked", `{"data":{"Any":"a","any":"b"}}`, new(corev1.ConfigMap), nil},
		{"values that are null", `{"metadata":{"labels":null},"spec":null}`, new(corev1.Pod), nil},
		{"values that decode themselves are not checked", `{"spec":{"rules":[{"http":{}}]},"data":{"anything":[{"a":1}]}}`, new(appsv1.ControllerRevision), []string{"spec: unknown field"}},
		{"values that decode themselves are checked for duplicates", `{"data":{"a":[{"b":1,"b":2}]}}`, new(appsv1.ControllerRevision), []string{"data.a[0].b: duplicate field"}},
		{"an unstructured object is only checked for duplicates", `{"x":1,"y":{"a":1,"a":2}}`, new(unstructured.Unstructured), []string{"y.a: duplicate field"}},
		{"a lean struct", `{"kind":"A","metadata":{"name":"a"},"any":{"x":1},"Any":1,"spec":{}}`, new(freeForm), []string{"Any: miscased field, want any", "spec: unknown field"}},
		{"lines", "{\n \"spec\": {\n  \"x\": 1}\n}", new(corev1.Pod), []string{"line 3: spec.x: unknown field"}},
		{"unusual names", `{"":1,"a b":2,"é":3}`, new(corev1.Pod), []string{`[""]: unknown field`, `["a b"]: unknown field`, `["é"]: unknown field`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, problemsOf(t, tt.in, tt.obj)); diff != "" {
				t.Errorf("UnmarshalStrict(%s) (-want +got):\n%s", tt.in, diff)
			}
		})
	}
}

// embedding has fields that hide each other.
type embedding struct {
	metav1.TypeMeta
	metav1.ObjectMeta `json:"metadata"`
	first
	*Second
	Plain   int
	Skipped int `json:"-"`
	hidden  int //nolint:unused // encoding/json does not see it
}

type first struct {
	Both   int
	Tagged int
	Deep   struct{ A int } `json:"deep"`
}

type Second struct {
	Both   int
	Other  int `json:"Tagged"`
	Time   metav1.MicroTime
	Plain  struct{ Never int }
	Nested map[string][]*Second `json:"nested,omitempty"`
}

func TestFieldsAreFoundLikeEncodingJSON(t *testing.T) {
	in := `{"kind":"A","apiVersion":"v1","metadata":{},"deep":{"A":1,"B":2},"Tagged":1,"Both":1,"Plain":1,"Skipped":1,"hidden":1,
		"Time":null,"first":{},"Second":{},"nested":{"a":[{"Other":1},{"Tagged":1,"Both":1}]}}`
	want := []string{"deep.B", "Both", "Skipped", "hidden", "first", "Second", "nested.a[0].Other"}
	var got []string
	err := wire.UnmarshalStrict([]byte(in), "", &embedding{Second: &Second{}})
	strict, ok := errors.AsType[*wire.StrictError](err)
	if !ok {
		t.Fatal(err)
	}
	for _, p := range strict.Problems {
		got = append(got, p.Path)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestEncodedKindsHaveNoUnknownFields(t *testing.T) {
	for _, k := range apitest.Kinds(t) {
		for seed := range int64(2) {
			p, err := wire.Pack(apitest.Random(k, seed), wire.JSON)
			if err != nil {
				t.Fatal(err)
			}
			if err := p.DecodeStrict(k.New()); err != nil {
				t.Errorf("%v seed %d: %v", k.Type, seed, err)
			}
		}
	}
	for _, g := range apitest.Goldens(t) {
		if err := wire.UnmarshalStrict(g.JSON, "", g.Kind.New()); err != nil && strings.HasPrefix(g.Name, "HEAD/") {
			t.Errorf("%s: %v", g.Name, err)
		}
	}
}

func TestUnmarshalStrictDecodesTheKnownFields(t *testing.T) {
	pod := new(corev1.Pod)
	if problemsOf(t, `{"metadata":{"name":"web","nam":"x"}}`, pod) == nil || pod.Name != "web" {
		t.Errorf("the name is %q, want web", pod.Name)
	}
}

func TestProblemsOfUnmarshalStrictAreBounded(t *testing.T) {
	var body strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&body, `,"%s%d":1`, strings.Repeat("x", 1000), i)
	}
	err := wire.UnmarshalStrict([]byte(`{"kind":"Pod"`+body.String()+`}`), "", new(corev1.Pod))
	strict, ok := errors.AsType[*wire.StrictError](err)
	if !ok || len(strict.Problems) != 100 || strict.More != 900 || !strings.HasSuffix(err.Error(), "; and 900 more") {
		t.Fatalf("UnmarshalStrict = %.100v…, want 100 problems and 900 more", err)
	}
	if len(err.Error()) > 100*200 {
		t.Errorf("the error has %d bytes", len(err.Error()))
	}
	deep := `{"any":` + strings.Repeat(`{"a":`, 5000) + `{"b":1,"b":2}` + strings.Repeat("}", 5000) + `}`
	if problems := problemsOf(t, deep, new(freeForm)); len(problems) != 1 || len(problems[0]) > 1200 {
		t.Errorf("a duplicate 5000 deep is %.100q", problems)
	}
}

func TestUnmarshalStrictRejectsInvalidData(t *testing.T) {
	tests := []struct{ name, body, contentType, want string }{
		{"a page of HTML", "<html>", "text/html", "content type"},
		{"protobuf", "k8s\x00", wire.MediaTypeProtobuf, "use JSON"},
		{"broken JSON", "{", wire.MediaTypeJSON, "unexpected EOF"},
		{"a value of the wrong type", `{"spec":{"x":1,"priority":"a"}}`, wire.MediaTypeJSON, "spec.priority: want an int32, not a string"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := wire.UnmarshalStrict([]byte(tt.body), tt.contentType, new(corev1.Pod))
			if _, ok := errors.AsType[*wire.StrictError](err); ok || err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("UnmarshalStrict = %v, want an error with %q", err, tt.want)
			}
		})
	}
}

// pathsIn returns the problems that apimachinery's strict decoding finds, as "unknown field spec.x", without
// duplicates.
func pathsIn(err error) []string {
	var found []string
	if strict, ok := runtime.AsStrictDecodingError(err); ok {
		for _, err := range strict.Errors() {
			kind, path, _ := strings.Cut(err.Error(), ` "`)
			found = append(found, kind+" "+pathWithDots(strings.TrimSuffix(path, `"`)))
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// pathWithDots returns a path without brackets, because a member whose name is a number looks like an index in our
// paths.
func pathWithDots(path string) string {
	return strings.TrimPrefix(regexp.MustCompile(`\[(\d+)\]`).ReplaceAllString(path, ".$1"), ".")
}

// inTheirWords returns the problems that strict decoding finds, as apimachinery reports them: it does not check unknown
// fields, and does not suggest spellings.
func inTheirWords(strict *wire.StrictError) []string {
	var found, unknown []string
	for _, p := range strict.Problems {
		path := pathWithDots(p.Path)
		if slices.ContainsFunc(unknown, func(u string) bool { return path == u || strings.HasPrefix(path, u+".") }) {
			continue
		}
		kind := p.Kind
		if kind != wire.DuplicateField {
			kind = wire.UnknownField
			unknown = append(unknown, path)
		}
		found = append(found, string(kind)+" "+path)
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// Strict decoding must find the same problems as apimachinery, except in values that decode themselves.
func FuzzUnmarshalStrict(f *testing.F) {
	for _, s := range append(oddJSON(), `{"spec":{"x":1,"Containers":[],"containers":[{"name":"a","name":"b","y":{}}]}}`, `{"metadata":{"labels":{"a":"b","a":"c"}}}`) {
		f.Add([]byte(s))
	}
	f.Add(podJSON(f))
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		f.Fatal(err)
	}
	gvk := corev1.SchemeGroupVersion.WithKind("Pod")
	theirs := kjson.NewSerializerWithOptions(kjson.DefaultMetaFactory, scheme, scheme, kjson.SerializerOptions{Strict: true})
	f.Fuzz(func(t *testing.T, body []byte) {
		ours, want := new(corev1.Pod), new(corev1.Pod)
		err := wire.UnmarshalStrict(body, "", ours)
		strict, isStrict := errors.AsType[*wire.StrictError](err)
		if err != nil && !isStrict {
			return
		}
		want.APIVersion, want.Kind = "v1", "Pod"
		_, _, theirErr := theirs.Decode(body, &gvk, want)
		if theirErr != nil && !runtime.IsStrictDecodingError(theirErr) || !json.Valid(body) {
			return // another kind
		}
		if strings.Contains(string(body), "\\") || strings.Contains(string(body), "f:") || len(body) > 1<<12 {
			return // names that apimachinery counts differently, and values that decode themselves
		}
		var got []string
		if isStrict {
			got = inTheirWords(strict)
		}
		odd := strings.Contains(strings.Join(got, " "), `["`) // names that apimachinery does not quote
		if diff := cmp.Diff(pathsIn(theirErr), got); diff != "" && !odd || (err == nil) != (theirErr == nil) {
			t.Errorf("UnmarshalStrict(%s) = %v, apimachinery says %v (-apimachinery +wire):\n%s", body, err, theirErr, diff)
		}
		if isStrict && len(strict.Problems) == 0 {
			t.Error("a StrictError without problems")
		}
	})
}
