// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package generate_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/derive"
	"github.com/kube-go/sdk/derive/generate"
	"github.com/kube-go/sdk/derive/generate/testdata/shapes"
	"github.com/kube-go/sdk/derive/validation"
)

// Types of every shape have one schema, however one looks at them: in their source, or by reflection.
func TestSourceAndReflectionAgree(t *testing.T) {
	dir := filepath.Join("testdata", "shapes")
	files, err := generate.CRDs(t.Context(), []string{"."}, &generate.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if len(files.Files) != 1 {
		t.Fatalf("CRDs made %d files, want one", len(files.Files))
	}
	made := files.Files[0]
	if *update {
		if _, err := files.Write(); err != nil {
			t.Fatal(err)
		}
	}
	old, err := os.ReadFile(made.Path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(old), string(made.Content)); diff != "" {
		t.Errorf("%s is not as committed; run go test -update if it should change:\n%s", made.Path, diff)
	}
	fromSource := &unstructured.Unstructured{}
	asJSON, err := yaml.YAMLToJSON(made.Content)
	if err != nil {
		t.Fatal(err)
	}
	if err := fromSource.UnmarshalJSON(asJSON); err != nil {
		t.Fatal(err)
	}
	byReflection, err := derive.Reflect[shapes.Shape](nil)
	if err != nil {
		t.Fatal(err)
	}
	align(fromSource.Object, byReflection.Object)
	if diff := cmp.Diff(fromSource.Object, byReflection.Object); diff != "" {
		t.Errorf("CRD (-source +reflection):\n%s", diff)
	}
}

func TestServersKeepWhatIsBelowARecursiveField(t *testing.T) {
	files, err := generate.CRDs(t.Context(), []string{"."}, &generate.Options{Dir: filepath.Join("testdata", "shapes")})
	if err != nil {
		t.Fatal(err)
	}
	fromSource := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(files.Files[0].Content, &fromSource.Object); err != nil {
		t.Fatal(err)
	}
	byReflection, err := derive.Reflect[shapes.Shape](nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, crd := range map[string]*unstructured.Unstructured{"source": fromSource, "reflection": byReflection} {
		v, err := validation.New(crd, "v1", nil)
		if err != nil {
			t.Fatal(err)
		}
		left := shapes.Left{Name: "a"}
		recursive := shapes.Recursive{
			Folder:  shapes.Folder{Name: "a", Folders: map[string]shapes.Folder{"b": {Name: "b"}}},
			Chapter: shapes.Chapter{Title: "a", Parts: &shapes.Parts{Chapters: []shapes.Chapter{{Title: "b"}}}},
			Left:    shapes.Left{Name: "a", Right: &shapes.Right{Left: &left}},
			Right:   shapes.Right{Left: &left},
		}
		object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&recursive)
		if err != nil {
			t.Fatal(err)
		}
		obj := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"recursive": object}}}
		if pruned := v.Prune(obj); len(pruned) > 0 {
			t.Errorf("schema by %s: Prune = %v, want no paths", name, pruned)
		}
	}
}

// Task is a kind with types of Kubernetes that have most in them.
type Task struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec struct {
		Template corev1.PodTemplateSpec           `json:"template"`
		Claim    corev1.PersistentVolumeClaimSpec `json:"claim,omitzero"`
		Service  *corev1.ServiceSpec              `json:"service,omitempty"`
		Policy   []networkingv1.NetworkPolicySpec `json:"policy,omitempty"`
	} `json:"spec"`
}

// KubeResource returns the names of the kind.
func (Task) KubeResource() core.Resource {
	return core.Resource{Group: "shapes.example.com", Version: "v1", Kind: "Task", Plural: "tasks"}
}

func TestReflectionTakesWhatKubernetesHas(t *testing.T) {
	crd, err := derive.Reflect[Task](nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range validation.Check(crd) {
		t.Error(p)
	}
	path := []string{"spec", "template", "spec", "containers"}
	at := crd.Object["spec"].(map[string]any)["versions"].([]any)[0].(map[string]any)["schema"].(map[string]any)["openAPIV3Schema"].(map[string]any)
	for _, name := range path {
		at = at["properties"].(map[string]any)[name].(map[string]any)
	}
	if text, ok := at["description"].(string); !ok || !strings.Contains(text, "containers belonging to the pod") {
		t.Errorf("description of %s = %q, want what Kubernetes says of it", strings.Join(path, "."), at["description"])
	}
}

// Borrowed has the types of Kubernetes that one embeds in a spec.
type Borrowed struct {
	Claim    corev1.PersistentVolumeClaimSpec     `json:"claim"`
	Volume   corev1.PersistentVolumeSpec          `json:"volume"`
	Service  corev1.ServiceSpec                   `json:"service"`
	Policy   networkingv1.NetworkPolicySpec       `json:"policy"`
	Ingress  networkingv1.IngressSpec             `json:"ingress"`
	Class    networkingv1.IngressClassSpec        `json:"class"`
	Set      appsv1.StatefulSetSpec               `json:"set"`
	Job      batchv1.PodFailurePolicy             `json:"job"`
	Rules    []rbacv1.PolicyRule                  `json:"rules"`
	Role     rbacv1.RoleRef                       `json:"role"`
	Subjects []rbacv1.Subject                     `json:"subjects"`
	Devices  resourcev1.ResourceClaimSpec         `json:"devices"`
	Capacity resourcev1.CapacityRequestPolicy     `json:"capacity"`
	Request  resourcev1.ResourceClaimTemplateSpec `json:"request"`
}

// Markers say of some fields of Kubernetes that they are optional though their tags do not. Reflection may know less
// than the sources say, but it must not ask for more.
func TestReflectionRequiresNoMoreThanTheSource(t *testing.T) {
	of := reflect.TypeFor[Borrowed]()
	var src strings.Builder
	src.WriteString("package thing\n\n")
	var body strings.Builder
	body.WriteString("//kube:resource group=borrowed.example.com version=v1 kind=Thing\ntype ThingSpec struct {\n")
	imported := map[string]bool{}
	for f := range of.Fields() {
		in, list := f.Type, ""
		if in.Kind() == reflect.Slice {
			in, list = in.Elem(), "[]"
		}
		alias := strings.NewReplacer("k8s.io/api/", "", "/", "").Replace(in.PkgPath())
		if !imported[in.PkgPath()] {
			imported[in.PkgPath()] = true
			fmt.Fprintf(&src, "import %s %q\n", alias, in.PkgPath())
		}
		fmt.Fprintf(&body, "%s %s%s.%s `%s`\n", f.Name, list, alias, in.Name(), f.Tag)
	}
	dir := newModule(t, &txtar.Archive{Files: []txtar.File{{Name: "thing/types.go", Data: []byte(src.String() + body.String() + "}\n")}}})
	files, err := generate.CRDs(t.Context(), []string{"./thing"}, &generate.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	_, fromSource := specOf(t, files.Files[0].Content)
	seen := 0
	var compare func(path string, source, reflection any)
	compare = func(path string, source, reflection any) {
		said, _ := source.(map[string]any)
		read, _ := reflection.(map[string]any)
		required, _ := said["required"].([]any)
		demanded, _ := read["required"].([]any)
		for _, name := range demanded {
			if seen++; !slices.Contains(required, name) {
				t.Errorf("%s.%s is optional by its source, and required by reflection", path, name)
			}
		}
		for key, value := range read {
			compare(path+"."+key, said[key], value)
		}
	}
	compare("spec", fromSource, plain(t, describeRandom(t, of)))
	if seen < 100 {
		t.Errorf("%d required fields were compared, want many more", seen)
	}
}

// align takes off what need not agree: comments are gone at run time, unless the type has a method that has them on one
// line.
func align(source, reflection any) {
	switch source := source.(type) {
	case map[string]any:
		other, _ := reflection.(map[string]any)
		for key, value := range source {
			text, isText := value.(string)
			switch said, ok := other[key].(string); {
			case key != "description" || !isText:
				align(value, other[key])
			case !ok:
				delete(source, key)
			default:
				source[key], other[key] = strings.Join(strings.Fields(text), " "), strings.Join(strings.Fields(said), " ")
			}
		}
	case []any:
		other, _ := reflection.([]any)
		for i, item := range source {
			if i < len(other) {
				align(item, other[i])
			}
		}
	}
}
