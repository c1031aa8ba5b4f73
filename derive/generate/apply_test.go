// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package generate_test

import (
	"encoding/json"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/derive/generate"
	"github.com/kube-go/sdk/derive/generate/testdata/document"
	"github.com/kube-go/sdk/derive/generate/testdata/written"
	"github.com/kube-go/sdk/derive/generate/testdata/zoo"
)

func TestApplyStructsSendWhatIsSetAndNothingElse(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   *zoo.ZooApply
		want string
	}{
		{"nothing but a name", &zoo.ZooApply{}, ``},
		{"structs that are there and empty", &zoo.ZooApply{Spec: &zoo.ZooSpecApply{Texts: &zoo.TextsApply{}}}, `,"spec":{"texts":{}}`},
		{
			"zeros of all types",
			&zoo.ZooApply{Spec: &zoo.ZooSpecApply{
				Texts:   &zoo.TextsApply{Text: new(""), Level: new(zoo.Level("")), Bytes: []byte{}},
				Numbers: &zoo.NumbersApply{Int: new(0), Float: new(0.0), Bool: new(false), Quoted: new(0)},
				Lists:   &zoo.ListsApply{Texts: []string{}, Array: new([3]int{}), Points: []zoo.PointApply{{}, {X: new(0)}}},
				Maps:    &zoo.MapsApply{Texts: map[string]string{}, Points: map[zoo.Key]zoo.PointApply{"a": {}}},
				Structs: &zoo.StructsApply{EmbeddedApply: zoo.EmbeddedApply{First: new(""), Second: []string{}}},
			}},
			`,"spec":{"texts":{"text":"","level":"","bytes":""},` +
				`"numbers":{"int":0,"float":0,"bool":false,"quoted":"0"},` +
				`"lists":{"texts":[],"points":[{},{"x":0}],"array":[0,0,0]},` +
				`"maps":{"texts":{},"points":{"a":{}}},` +
				`"structs":{"first":"","second":[]}}`,
		},
		{"a status without a spec", &zoo.ZooApply{Status: &zoo.ObservedApply{Replicas: new(int32(0))}}, `,"status":{"replicas":0}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.in.Name = "a"
			res, err := core.ResourceOf[zoo.ZooApply]()
			if err != nil {
				t.Fatal(err)
			}
			got, err := wire.MarshalApply(tt.in, res, nil)
			want := `{"apiVersion":"zoo.example.com/v1alpha1","kind":"Zoo","metadata":{"name":"a"}` + tt.want + `}`
			if err != nil || cmp.Diff(decoded(t, want), decoded(t, string(got))) != "" {
				t.Errorf("MarshalApply = %s, %v\nwant %s", got, err, want)
			}
		})
	}
}

func decoded(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

// What the struct of a kind can say, its apply struct can say as well.
func TestApplyStructsSayAllThatKindsSay(t *testing.T) {
	t.Run("document", func(t *testing.T) { agree[document.Document, document.DocumentApply](t) })
	t.Run("zoo", func(t *testing.T) { agree[zoo.Zoo, zoo.ZooApply](t) })
	t.Run("written", func(t *testing.T) { agree[written.Book, written.BookApply](t) })
}

func agree[K, A any](t *testing.T) {
	t.Helper()
	for seed := range uint64(200) {
		r := &randomizer{rand.New(rand.NewPCG(seed, 0))}
		in := new(K)
		r.fill(reflect.ValueOf(in).Elem(), 0)
		makeValid(reflect.ValueOf(in).Elem())
		want, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		out := new(A)
		if err := json.Unmarshal(want, out); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		got, err := json.Marshal(out)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(saying(decoded(t, string(want))), saying(decoded(t, string(got)))); diff != "" {
			t.Fatalf("seed %d: (-kind +apply struct):\n%s", seed, diff)
		}
	}
}

// makeValid replaces what is random and no JSON, or JSON that can't be read back.
func makeValid(v reflect.Value) {
	if !v.CanSet() {
		return
	}
	switch p := v.Addr().Interface().(type) {
	case *runtime.RawExtension:
		*p = runtime.RawExtension{Raw: []byte(`{"a":1}`)}
	case *intstr.IntOrString:
		*p = intstr.FromString("5%")
	case *metav1.ObjectMeta:
		p.ManagedFields = nil
	case *resource.Quantity:
		*p = resource.MustParse("5Gi")
	case *zoo.Coded:
		*p = zoo.Coded{}
	}
	switch v.Kind() {
	case reflect.Struct:
		for _, field := range v.Fields() {
			makeValid(field)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			makeValid(v.Elem())
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			makeValid(v.Index(i))
		}
	}
}

// saying removes nulls and empty objects, which say nothing: a struct without a pointer can't be left out, and a list
// of pointers may have nils in it.
func saying(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if v[key] = saying(value); v[key] == nil {
				delete(v, key)
			}
		}
		if len(v) == 0 {
			return nil
		}
	case []any:
		for i, item := range v {
			v[i] = saying(item)
		}
	}
	return v
}

func TestApplyStructsAndKindsAreTheSameResource(t *testing.T) {
	kind, err := core.ResourceOf[zoo.Zoo]()
	if err != nil {
		t.Fatal(err)
	}
	apply, err := core.ResourceOf[zoo.ZooApply]()
	if diff := cmp.Diff(kind, apply); err != nil || diff != "" {
		t.Errorf("ResourceOf (-kind +apply struct): %v\n%s", err, diff)
	}
	if obj := (&zoo.ZooApply{ObjectMeta: metav1.ObjectMeta{Name: "a"}}); core.RefOf(obj).Name != "a" {
		t.Errorf("RefOf = %v", core.RefOf(obj))
	}
}

// stages is a module whose kind has a pod template and types of another package in it, and whose code uses apply
// structs.
const stages = `
-- api/types.go --
// +kubebuilder:ac:generate=true
package api

import (
	corev1 "k8s.io/api/core/v1"

	"example.com/test/shared"
)

//kube:resource group=stages.example.com version=v1 kind=Stage
type StageSpec struct {
	Template corev1.PodTemplateSpec ` + "`json:\"template\"`" + `
	Light    shared.Light           ` + "`json:\"light\"`" + `
	Lights   shared.Pair[shared.Light] ` + "`json:\"lights\"`" + `
}

// +kubebuilder:ac:generate=false
//kube:resource group=stages.example.com version=v1 kind=Other
type OtherSpec struct{}

// Extra is not a kind.
// +kubebuilder:ac:generate=true
type Extra struct {
	Name string ` + "`json:\"name\"`" + `
}

// Bright uses what is to be generated.
func Bright() *StageApply {
	return &StageApply{Spec: &StageSpecApply{
		Template: &CoreV1PodTemplateSpecApply{Spec: &CoreV1PodSpecApply{
			Containers: []CoreV1ContainerApply{{Name: new("web"), Env: []CoreV1EnvVarApply{}}},
		}},
		Light:  &SharedLightApply{Level: new("")},
		Lights: &SharedPairSharedLightApply{Left: &SharedLightApply{}},
	}}
}

var _ = ExtraApply{Name: new("")}
-- shared/shared.go --
package shared

type level string

// Light has a field whose type has no name elsewhere.
type Light struct {
	Level level ` + "`json:\"level\"`" + `
}

// Tree contains itself.
type Tree map[string]struct {
	Tree Tree ` + "`json:\"tree\"`" + `
}

// Pair has two.
type Pair[T any] struct {
	Left  T ` + "`json:\"left\"`" + `
	Right T ` + "`json:\"right\"`" + `
}
`

func TestApplyStructsReachTypesOfOtherModules(t *testing.T) {
	dir := newModule(t, txtar.Parse([]byte(stages)))
	files := run(t, dir, "./api")
	path := filepath.Join("api", "zz_generated.apply.go")
	written := write(t, files)
	if written[0] != path {
		t.Fatalf("a run that the marker asks for apply structs wrote %v", written)
	}
	src := readFile(t, filepath.Join(dir, path))
	if strings.Contains(src, "OtherApply") {
		t.Error("there is a struct that the marker declines")
	}
	build := exec.CommandContext(t.Context(), "go", "build", "./...")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Errorf("go build: %v\n%s", err, out)
	}
	alone, err := generate.Apply(t.Context(), []string{"./api"}, &generate.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if stale, err := alone.Stale(); err != nil || len(alone.Files) != 1 || len(stale) > 0 {
		t.Errorf("Apply alone makes %d files, of which %v differ, %v", len(alone.Files), stale, err)
	}
	if again := write(t, run(t, dir, "./api")); len(again) > 0 {
		t.Errorf("a second run changes %v", again)
	}
}

func TestApplyRemovesWhatHasNoKindsAnyMore(t *testing.T) {
	dir := newModule(t, txtar.Parse([]byte(stages)))
	write(t, run(t, dir, "./api"))
	writeFile(t, filepath.Join(dir, "api/types.go"), "package api\n")
	files, err := generate.Apply(t.Context(), []string{"./api"}, &generate.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"api/zz_generated.apply.go"}, write(t, files)); diff != "" {
		t.Errorf("Write (-want +got):\n%s", diff)
	}
}

func TestApplyRefusesWhatItCannotWrite(t *testing.T) {
	for _, tt := range []struct{ name, old, with, want string }{
		{
			"a name that is taken", "var _ = ExtraApply{Name: new(\"\")}", "type StageApply struct{}",
			"api/types.go:11:6: StageSpec: StageApply can't be generated, since the package declares it: rename it",
		},
		{
			"a type that has no name here", "type level string", "type level string\n\nfunc (level) MarshalJSON() ([]byte, error) { return nil, nil }",
			"shared/shared.go:9:2: Level: no apply struct: example.com/test/shared.level has its own encoding, and package api can't refer to it: export it",
		},
		{
			"a type that contains itself in a struct without a name", "Lights   shared.Pair[shared.Light]", "Lights   shared.Tree",
			"shared/shared.go:12:2: Tree: no apply struct: example.com/test/shared.Tree contains itself: use a named struct for its elements",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := newModule(t, txtar.Parse([]byte(strings.Replace(stages, tt.old, tt.with, 1))))
			_, err := generate.Apply(t.Context(), []string{"./api"}, &generate.Options{Dir: dir})
			if err == nil || err.Error() != tt.want {
				t.Errorf("Apply = %v, want %s", err, tt.want)
			}
		})
	}
}

func TestApplyStructsMayHaveRecursiveMaps(t *testing.T) {
	dir := newModule(t, txtar.Parse([]byte(`
-- api/types.go --
package api

//kube:resource group=trees.example.com version=v1 kind=Plant
type PlantSpec struct {
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Tree Tree `+"`json:\"tree\"`"+`
}

// Tree is a map of trees.
type Tree map[string]Tree
`)))
	files, err := generate.Apply(t.Context(), []string{"./api"}, &generate.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if src := string(files.Files[0].Content); !strings.Contains(src, "Tree Tree `json:\"tree,omitzero\"`") {
		t.Errorf("the field has another type:\n%s", src)
	}
}
