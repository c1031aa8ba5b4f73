// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package generate_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"

	"github.com/kube-go/sdk/derive/generate"
	"github.com/kube-go/sdk/derive/internal/scaffold"
)

// gadgets is a module that knows nothing of this one: two versions of a kind, written out for other generators, whose
// deep copies are missing.
const gadgets = `
-- api/v1/types.go --
// +groupName=gadgets.example.com
package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"example.com/test/names"
)

var _ runtime.Object = &Gadget{}

// Gadget is a thing.
// +genclient
// +kubebuilder:resource:shortName=gd;gdt,categories=all,scope=Cluster
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:printcolumn:name="Colour",type="string",JSONPath=".spec.colour",priority=1
type Gadget struct {
	metav1.TypeMeta   ` + "`json:\",inline\"`" + `
	metav1.ObjectMeta ` + "`json:\"metadata,omitempty\"`" + `

	Spec GadgetSpec ` + "`json:\"spec\"`" + `
}

// GadgetSpec is what a gadget should be.
type GadgetSpec struct {
	// +kubebuilder:validation:Enum=red;green;black
	Colour Colour ` + "`json:\"colour\"`" + `
	// +kubebuilder:validation:MaxLength=9
	Host Host ` + "`json:\"host,omitempty\"`" + `
	// +kubebuilder:default={{port: 80},{port: 443}}
	Ports []Port ` + "`json:\"ports,omitempty\"`" + `
}

// Port is where a gadget listens.
type Port struct {
	Port int32 ` + "`json:\"port\"`" + `
}

// +kubebuilder:validation:Enum=red;green;blue
type Colour string

// Host has the restrictions of what it is declared with.
type Host names.Label

// GadgetList is not a kind.
type GadgetList struct {
	metav1.TypeMeta ` + "`json:\",inline\"`" + `
	metav1.ListMeta ` + "`json:\"metadata,omitempty\"`" + `

	Items []Gadget ` + "`json:\"items\"`" + `
}
-- api/v1beta1/types.go --
// +groupName=gadgets.example.com
package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Gadget was a thing.
// +kubebuilder:deprecatedversion:warning="use v1"
// +kubebuilder:unservedversion
// +kubebuilder:resource:scope=Cluster
type Gadget struct {
	metav1.TypeMeta   ` + "`json:\",inline\"`" + `
	metav1.ObjectMeta ` + "`json:\"metadata,omitempty\"`" + `
}
-- names/names.go --
// Package names has no kinds.
package names

// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:Pattern="^[a-z]+$"
type Label string
`

func TestCRDsOfTypesThatAreWrittenOut(t *testing.T) {
	dir := newModule(t, txtar.Parse([]byte(gadgets)))
	files, err := generate.CRDs(t.Context(), []string{"./..."}, &generate.Options{Dir: dir, Out: "config"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"config/gadgets.example.com_gadgets.yaml"}, write(t, files)); diff != "" {
		t.Fatalf("Write (-want +got):\n%s", diff)
	}
	if len(files.Warnings) > 0 {
		t.Errorf("Warnings = %v, want none in packages of the module itself", files.Warnings)
	}
	text := readFile(t, filepath.Join(dir, "config/gadgets.example.com_gadgets.yaml"))
	if !strings.HasPrefix(text, "---\n") {
		t.Errorf("the file does not begin a document, so it can't follow another one:\n%s", text)
	}
	var got, want any
	if err := yaml.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	typeMeta := cmp.FilterPath(func(p cmp.Path) bool {
		key := p.Last().String()
		return key == `["apiVersion"]` || key == `["kind"]`
	}, cmp.Ignore())
	if err := yaml.Unmarshal([]byte(wantGadgets), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, typeMeta); diff != "" {
		t.Errorf("CRD (-want +got):\n%s", diff)
	}
}

const wantGadgets = `
metadata:
  name: gadgets.gadgets.example.com
spec:
  group: gadgets.example.com
  names: {listKind: GadgetList, plural: gadgets, singular: gadget, shortNames: [gd, gdt], categories: [all]}
  scope: Cluster
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    additionalPrinterColumns:
    - {name: Colour, type: string, jsonPath: .spec.colour, priority: 1}
    schema:
      openAPIV3Schema:
        type: object
        description: Gadget is a thing.
        required: [spec]
        properties:
          metadata: {type: object}
          spec:
            type: object
            description: GadgetSpec is what a gadget should be.
            required: [colour]
            properties:
              colour: {type: string, enum: [red, green]}
              host:
                type: string
                description: Host has the restrictions of what it is declared with.
                minLength: 1
                maxLength: 9
                pattern: ^[a-z]+$
              ports:
                type: array
                default: [{port: 80}, {port: 443}]
                items:
                  type: object
                  description: Port is where a gadget listens.
                  required: [port]
                  properties:
                    port: {type: integer, format: int32}
  - name: v1beta1
    served: false
    storage: false
    deprecated: true
    deprecationWarning: use v1
    schema:
      openAPIV3Schema:
        type: object
        description: Gadget was a thing.
        properties:
          metadata: {type: object}
`

func TestCRDsOfOtherModulesWarn(t *testing.T) {
	files, err := generate.CRDs(t.Context(), []string{"k8s.io/api/coordination/v1"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(files.Files) != 1 || filepath.Base(files.Files[0].Path) != "coordination.k8s.io_leases.yaml" {
		t.Errorf("Files = %v, want that of leases", files.Files)
	}
	if len(files.Warnings) != 1 || !strings.Contains(files.Warnings[0].Message, "api-approved.kubernetes.io") {
		t.Errorf("Warnings = %v, want one about the approval that a server wants", files.Warnings)
	}
}

func TestCRDsRefuseMistakes(t *testing.T) {
	dir := newModule(t, txtar.Parse([]byte(strings.Replace(gadgets, "MaxLength=9", "MaxLenght=9", 1))))
	_, err := generate.CRDs(t.Context(), []string{"./..."}, &generate.Options{Dir: dir})
	const want = "api/v1/types.go:30:5: unknown marker +kubebuilder:validation:MaxLenght; did you mean +kubebuilder:validation:MaxLength?"
	if err == nil || err.Error() != want {
		t.Errorf("CRDs = %v, want %s", err, want)
	}
}

func TestVersionIsThePackageName(t *testing.T) {
	const kind = "\nimport metav1 \"k8s.io/apimachinery/pkg/apis/meta/v1\"\n\n// +kubebuilder:object:root=true\n" +
		"type Thing struct {\n\tmetav1.TypeMeta `json:\",inline\"`\n\tmetav1.ObjectMeta `json:\"metadata,omitempty\"`\n}\n"
	dir := newModule(t, txtar.Parse([]byte("-- apis/a.go --\n// +groupName=a.example.com\npackage v1alpha3\n"+kind+
		"-- v1/b.go --\n// +groupName=b.example.com\n// +versionName=v2\npackage v1alpha3\n"+kind)))
	files, err := generate.CRDs(t.Context(), []string{"./..."}, &generate.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"- name: v1alpha3\n", "- name: v2\n"} {
		if text := string(files.Files[i].Content); !strings.Contains(text, want) {
			t.Errorf("%s has no %q:\n%s", files.Files[i].Path, want, text)
		}
	}
}

// A generic type with the metadata types is the base of kinds, and no kind.
func TestKindsMayHaveAGenericBase(t *testing.T) {
	dir := newModule(t, txtar.Parse([]byte(`
-- v1/types.go --
// +groupName=things.example.com
package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Object is the base of kinds.
type Object[S any] struct {
	metav1.TypeMeta   `+"`json:\",inline\"`"+`
	metav1.ObjectMeta `+"`json:\"metadata,omitempty\"`"+`

	Spec S `+"`json:\"spec\"`"+`
}

// List is the base of lists.
type List[T any] struct {
	metav1.TypeMeta `+"`json:\",inline\"`"+`
	metav1.ListMeta `+"`json:\"metadata,omitempty\"`"+`

	Items []T `+"`json:\"items\"`"+`
}

// Foo is a kind.
// +kubebuilder:object:root=true
type Foo Object[FooSpec]

// FooList is a list.
// +kubebuilder:object:root=true
type FooList List[Foo]

// FooSpec is a spec.
type FooSpec struct {
	A string `+"`json:\"a\"`"+`
}
`)))
	files, err := generate.CRDs(t.Context(), []string{"./..."}, &generate.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"crds/things.example.com_foos.yaml"}, write(t, files)); diff != "" {
		t.Errorf("Write (-want +got):\n%s", diff)
	}
	want := []string{"config/crd/things.example.com_foos.yaml", "v1/zz_generated.kube.go"}
	if diff := cmp.Diff(want, write(t, run(t, dir, "./..."))); diff != "" {
		t.Errorf("Write after Run (-want +got):\n%s", diff)
	}
	generated := readFile(t, filepath.Join(dir, want[1]))
	if method := "func (in *FooList) DeepCopyObject() "; !strings.Contains(generated, method) {
		t.Errorf("the Go file lacks %s:\n%s", method, generated)
	}
}

// A project that moves from controller-gen may still have its deep copies. The generated file imports only what it uses.
func TestKindWithDeepCopiesOfControllerGenCompiles(t *testing.T) {
	dir := newModule(t, txtar.Parse([]byte(`
-- v1/types.go --
// +groupName=things.example.com
package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Foo is a kind.
// +kubebuilder:object:root=true
type Foo struct {
	metav1.TypeMeta   `+"`json:\",inline\"`"+`
	metav1.ObjectMeta `+"`json:\"metadata,omitempty\"`"+`

	Spec FooSpec `+"`json:\"spec\"`"+`
}

// FooSpec is a spec.
type FooSpec struct {
	A string `+"`json:\"a\"`"+`
}
-- v1/zz_generated.deepcopy.go --
//go:build !ignore_autogenerated

// Code generated by controller-gen. DO NOT EDIT.

package v1

import "k8s.io/apimachinery/pkg/runtime"

func (in *FooSpec) DeepCopyInto(out *FooSpec) { *out = *in }

func (in *FooSpec) DeepCopy() *FooSpec { return new(*in) }

func (in *Foo) DeepCopyInto(out *Foo) {
	*out = *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
}

func (in *Foo) DeepCopy() *Foo {
	out := new(Foo)
	in.DeepCopyInto(out)
	return out
}

func (in *Foo) DeepCopyObject() runtime.Object { return in.DeepCopy() }
`)))
	write(t, run(t, dir, "./..."))
	build := exec.CommandContext(t.Context(), "go", "vet", "./v1")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Errorf("go vet: %v\n%s", err, out)
	}
}

// The comments of the first project are for its author, and not for those who run kubectl explain.
func TestDescriptionsOfANewProjectAreAboutTheKind(t *testing.T) {
	project := &scaffold.Project{Module: "example.com/test", Group: "shop.example.com", Kind: "Order", Version: "v1.2.3"}
	written, err := project.Files()
	if err != nil {
		t.Fatal(err)
	}
	archive := &txtar.Archive{}
	for _, f := range written {
		if strings.HasPrefix(f.Path, "api/") {
			archive.Files = append(archive.Files, txtar.File{Name: f.Path, Data: f.Content})
		}
	}
	files := run(t, newModule(t, archive), "./...")
	i := slices.IndexFunc(files.Files, func(f generate.File) bool { return strings.HasSuffix(f.Path, ".yaml") })
	text := string(files.Files[i].Content)
	for _, word := range []string{"make generate", "kube-derive", "CustomResourceDefinition", "wire", "CRD"} {
		if _, schema, _ := strings.Cut(text, "openAPIV3Schema"); strings.Contains(schema, word) {
			t.Errorf("a description speaks of %q:\n%s", word, text)
		}
	}
	if want := "description: OrderSpec is the desired state of the Order."; !strings.Contains(text, want) {
		t.Errorf("there is no %q:\n%s", want, text)
	}
}

func TestFieldsThatTheStorageVersionLacksAreWarnings(t *testing.T) {
	const stored = `package v1

//kube:resource group=notes.example.com version=v1 kind=Note storage=true
type NoteSpec struct {
	Title string            ` + "`json:\"title\"`" + `
	Pages []Page            ` + "`json:\"pages,omitempty\"`" + `
	Owner map[string]string ` + "`json:\"owner,omitempty\"`" + `
}

type Page struct {
	Text string ` + "`json:\"text\"`" + `
}
`
	next := strings.NewReplacer("package v1", "package v2", "version=v1", "version=v2", " storage=true", "")
	changed := strings.NewReplacer("package v1", "package v2", "version=v1", "version=v2", " storage=true", "",
		"\tTitle string            `json:\"title\"`", "\tTitle Title `json:\"title\"`\n\tTags []string `json:\"tags,omitempty\"`",
		"\tText string `json:\"text\"`", "\tText string `json:\"text\"`\n\tNote string `json:\"note,omitempty\"`",
		"type Page", "// +kubebuilder:validation:MaxLength=5\ntype Title string\n\ntype Page")
	const webhook = "storage=true\n//kube:conversion strategy=Webhook service=a/b"
	const why = " of version v2 on write, because the storage version v1 does not have it and no webhook converts: " +
		"add //kube:conversion strategy=Webhook, or add the field to version v1"
	for _, tt := range []struct {
		name     string
		v1, v2   string
		warnings []string
	}{
		{"the same fields", stored, next.Replace(stored), nil},
		{"more fields", stored, changed.Replace(stored), []string{
			"v2/note.go:6:2: Note.spec.tags: servers drop this field" + why,
			"v2/note.go:16:2: Note.spec.pages[].note: servers drop this field" + why,
		}},
		{"more fields of a version that is not served", stored, strings.Replace(changed.Replace(stored), "kind=Note", "kind=Note served=false", 1), nil},
		{"more fields with a webhook", strings.Replace(stored, "storage=true", webhook, 1), changed.Replace(stored), nil},
		{"fewer fields", changed.Replace(stored), strings.NewReplacer("v1", "v2").Replace(stored), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.name == "fewer fields" { // the version with more is stored
				tt.v1 = strings.NewReplacer("v2", "v1", "kind=Note", "kind=Note storage=true").Replace(tt.v1)
				tt.v2 = strings.Replace(tt.v2, " storage=true", "", 1)
			}
			dir := newModule(t, &txtar.Archive{Files: []txtar.File{{Name: "v1/note.go", Data: []byte(tt.v1)}, {Name: "v2/note.go", Data: []byte(tt.v2)}}})
			files, err := generate.Run(t.Context(), []string{"./..."}, &generate.Options{Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, w := range files.Warnings {
				got = append(got, w.String())
			}
			if diff := cmp.Diff(tt.warnings, got); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMistakesOfSeveralVersionsNameTheirFiles(t *testing.T) {
	const version = `package VERSION

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// +kubebuilder:object:root=true
type Thing struct {
	metav1.TypeMeta   ` + "`json:\",inline\"`" + `
	metav1.ObjectMeta ` + "`json:\"metadata,omitempty\"`" + `
}
`
	sources := func(versions ...string) *txtar.Archive {
		archive := &txtar.Archive{}
		for i, v := range versions {
			text := "// +groupName=things.example.com\n// +versionName=" + v + "\n" + strings.Replace(version, "VERSION", "api", 1)
			archive.Files = append(archive.Files, txtar.File{Name: fmt.Sprintf("api%d/types.go", i), Data: []byte(text)})
		}
		return archive
	}
	for _, tt := range []struct {
		name     string
		versions []string
		want     string
	}{
		{
			"no storage version",
			[]string{"v1", "v2"},
			"api1/types.go:8:6: Thing has several versions: mark the storage version with +kubebuilder:storageversion",
		},
		{
			"a version in two packages",
			[]string{"v1", "v1"},
			"api1/types.go:8:6: version v1 of things.things.example.com is already defined at api0/types.go:8",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := newModule(t, sources(tt.versions...))
			_, err := generate.CRDs(t.Context(), []string{"./..."}, &generate.Options{Dir: dir})
			if err == nil || err.Error() != tt.want {
				t.Errorf("CRDs:\n got %v\nwant %s", err, tt.want)
			}
		})
	}
}

func TestMarkersOfImportedPackagesApply(t *testing.T) {
	const src = `
-- api/v1/types.go --
package v1

import "example.com/test/shared"

//kube:resource group=things.example.com version=v1 kind=Thing
type ThingSpec struct {
	Options shared.Options ` + "`json:\"options\"`" + `
}
-- shared/doc.go --
package shared

// +kubebuilder:validation:Optional
-- shared/types.go --
package shared

type Options struct {
	Size int ` + "`json:\"size\"`" + `
}
`
	dir := newModule(t, txtar.Parse([]byte(src)))
	content := map[string]string{}
	for _, pattern := range []string{"./api/v1", "./..."} {
		files, err := generate.CRDs(t.Context(), []string{pattern}, &generate.Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		content[pattern] = string(files.Files[0].Content)
	}
	if diff := cmp.Diff(content["./..."], content["./api/v1"]); diff != "" {
		t.Errorf("CRDs of the package of the kind (-all packages +this package):\n%s", diff)
	}
	if strings.Contains(content["./..."], "- size") {
		t.Errorf("the field size is required:\n%s", content["./..."])
	}
}

func TestMarkersOfGenericTypesApply(t *testing.T) {
	const src = `
-- api/v1/types.go --
package v1

//kube:resource group=things.example.com version=v1 kind=Thing
type ThingSpec struct {
	A List[string] ` + "`json:\"a\"`" + `
	B Names ` + "`json:\"b\"`" + `
	C Pair[string, int] ` + "`json:\"c\"`" + `
	D Both ` + "`json:\"d\"`" + `
}

// List has different items.
// +listType=set
// +kubebuilder:validation:MaxItems=9
type List[T any] []T

type Names List[string]

// Pair has two values.
// +kubebuilder:validation:XValidation:rule="has(self.left) || has(self.right)"
type Pair[L, R any] struct {
	Left  L ` + "`json:\"left,omitempty\"`" + `
	Right R ` + "`json:\"right,omitempty\"`" + `
}

type Same[L, R any] Pair[L, R]

type Both Same[string, int]
`
	dir := newModule(t, txtar.Parse([]byte(src)))
	files, err := generate.CRDs(t.Context(), []string{"./..."}, &generate.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	_, spec := specOf(t, files.Files[0].Content)
	fields := spec.(map[string]any)["properties"].(map[string]any)
	for field, same := range map[string]string{"b": "a", "d": "c"} {
		if diff := cmp.Diff(fields[same], fields[field]); diff != "" {
			t.Errorf("schema of %s (-%s +%[1]s):\n%s", field, same, diff)
		}
	}
	if a := fields["a"].(map[string]any); a["maxItems"] == nil {
		t.Errorf("schema of a = %v, want maxItems", a)
	}
	pages, err := generate.Markdown(t.Context(), []string{"./..."}, &generate.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	docs := string(pages.Files[0].Content)
	for _, want := range []string{`"both-left"`, `"both-right"`, "Names"} {
		if !strings.Contains(docs, want) {
			t.Errorf("the documentation lacks %s:\n%s", want, docs)
		}
	}
	if strings.Contains(docs, "pkg.go.dev") {
		t.Errorf("the documentation has a link to a type of another package:\n%s", docs)
	}
}

// TestUpdateOfATypeAlsoAppliesToAbsentFields checks that the markers of a type cause the same rules as those of a
// field.
func TestUpdateOfATypeAlsoAppliesToAbsentFields(t *testing.T) {
	const src = `
-- api/v1/types.go --
package v1

//kube:resource group=things.example.com version=v1 kind=Thing
type ThingSpec struct {
	A Names ` + "`json:\"a,omitempty\"`" + `
	// +k8s:update=NoRemoveItem
	// +k8s:maxItems=3
	// +listType=set
	B []string ` + "`json:\"b,omitempty\"`" + `
}

// +k8s:update=NoRemoveItem
// +k8s:maxItems=3
// +listType=set
type Names []string
`
	files, err := generate.CRDs(t.Context(), []string{"./..."}, &generate.Options{Dir: newModule(t, txtar.Parse([]byte(src)))})
	if err != nil {
		t.Fatal(err)
	}
	content := string(files.Files[0].Content)
	for _, field := range []string{"a", "b"} {
		if want := "!has(oldSelf." + field + ")"; !strings.Contains(content, want) {
			t.Errorf("the definition lacks a rule with %s:\n%s", want, content)
		}
	}
}

// TestMarkersOfAPromotedEncodingApply checks that the markers of an embedded field, which is all that encoding/json
// writes of a struct with its MarshalJSON method, apply to the struct.
func TestMarkersOfAPromotedEncodingApply(t *testing.T) {
	dir := newModule(t, txtar.Parse([]byte(`
-- api/v1/types.go --
package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

//kube:resource group=works.example.com version=v1 kind=Work
type WorkSpec struct {
	Manifests []Manifest `+"`json:\"manifests\"`"+`
	Delay     Delay      `+"`json:\"delay\"`"+`
}

// Manifest is an object of any kind.
type Manifest struct {
	// +kubebuilder:validation:EmbeddedResource
	// +kubebuilder:pruning:PreserveUnknownFields
	runtime.RawExtension `+"`json:\",inline\"`"+`
}

// Delay is short.
type Delay struct {
	// +kubebuilder:validation:MaxLength=9
	metav1.Duration `+"`json:\",inline\"`"+`
}
`)))
	files, err := generate.CRDs(t.Context(), []string{"./..."}, &generate.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	_, spec := specOf(t, files.Files[0].Content)
	want := map[string]any{
		"manifests": map[string]any{"type": "array", "items": map[string]any{
			"type": "object", "description": "Manifest is an object of any kind.",
			"x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true,
		}},
		"delay": map[string]any{"type": "string", "description": "Delay is short.", "maxLength": 9.0},
	}
	if diff := cmp.Diff(want, spec.(map[string]any)["properties"]); diff != "" {
		t.Errorf("properties (-want +got):\n%s", diff)
	}
}
