// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package generate_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/kube-go/sdk/derive/generate"
)

// careless is a module with markers that controller-gen ignores, and a field that nothing can describe.
const careless = `
-- api/v1/types.go --
// +groupName=careless.k8s.io
// +groupGoName=Careless
package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Item is a thing.
// +kubebuilder:object:root=true
// +kubebuilder:resource:oneOf=a
type Item struct {
	metav1.TypeMeta   ` + "`json:\",inline\"`" + `
	metav1.ObjectMeta ` + "`json:\"metadata,omitempty\"`" + `

	// +kubebuilder:validation:not=x
	Spec ItemSpec ` + "`json:\"spec\"`" + `
}

// ItemSpec is the spec.
// +optional
// +kubebuilder:default={}
type ItemSpec struct {
	// +kubebuilder:validation:MaxLength=9
	// +kubebuilder:validation:XValidation:rule="self.nonsense"
	Text string ` + "`json:\"text\"`" + `

	// +listType=map
	List []string ` + "`json:\"list\"`" + `

	Wire chan int ` + "`json:\"wire\"`" + `
}
-- api/v1beta1/types.go --
// +groupName=careful.example.com
package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Care has no mistakes.
// +kubebuilder:object:root=true
type Care struct {
	metav1.TypeMeta   ` + "`json:\",inline\"`" + `
	metav1.ObjectMeta ` + "`json:\"metadata,omitempty\"`" + `
}
`

func TestLenientMakesMistakesWarnings(t *testing.T) {
	dir := newModule(t, txtar.Parse([]byte(careless)))
	_, err := generate.CRDs(t.Context(), []string{"./..."}, &generate.Options{Dir: dir})
	e, ok := errors.AsType[*generate.SourceError](err)
	if !ok {
		t.Fatalf("CRDs = %v, want a SourceError", err)
	}
	files, err := generate.CRDs(t.Context(), []string{"./..."}, &generate.Options{Dir: dir, Lenient: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range e.Problems {
		if !slices.Contains(files.Warnings, p) {
			t.Errorf("there is no warning %s", p)
		}
	}
	if i := slices.IndexFunc(files.Warnings, func(p generate.Problem) bool { return strings.Contains(p.Message, "api-approved.kubernetes.io") }); i < 0 {
		t.Errorf("Warnings = %v, want one of the annotation that servers ask for", files.Warnings)
	}
	if got, want := write(t, files), []string{"crds/careful.example.com_cares.yaml", "crds/careless.k8s.io_items.yaml"}; !slices.Equal(got, want) {
		t.Errorf("Write() = %v, want %v", got, want)
	}
	text := readFile(t, filepath.Join(dir, "crds/careless.k8s.io_items.yaml"))
	for _, part := range []string{"maxLength: 9", "rule: self.nonsense", "x-kubernetes-list-type: map", "wire:\n"} {
		if !strings.Contains(text, part) {
			t.Errorf("the CRD has no %q:\n%s", part, text)
		}
	}
}

// wrapped is a module with structs that have their own encoding.
const wrapped = `
-- api/types.go --
// +groupName=things.example.com
package api

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// +kubebuilder:object:root=true
type Item struct {
	metav1.TypeMeta   ` + "`json:\",inline\"`" + `
	metav1.ObjectMeta ` + "`json:\"metadata,omitempty\"`" + `

	Spec    ItemSpec ` + "`json:\"spec\"`" + `
	Opaque  Opaque   ` + "`json:\"opaque\"`" + `
	Pipe    Pipe     ` + "`json:\"pipe\"`" + `
	Wrapper Wrapper  ` + "`json:\"wrapper\"`" + `
}

type ItemSpec struct {
	// +kubebuilder:validation:MaxLength=9
	Text string ` + "`json:\"text\"`" + `
}

func (ItemSpec) MarshalJSON() ([]byte, error) { return nil, nil }

// Opaque has a pipe, which has no schema.
type Opaque struct {
	Pipe Pipe ` + "`json:\"pipe\"`" + `
	Bare string
}

func (Opaque) MarshalJSON() ([]byte, error) { return nil, nil }

type Pipe struct {
	Wire chan int ` + "`json:\"wire\"`" + `
}

// +kubebuilder:pruning:PreserveUnknownFields
type Wrapper struct {
	Object map[string]any ` + "`json:\"-\"`" + `
}

func (Wrapper) MarshalJSON() ([]byte, error) { return nil, nil }
`

func TestLenientDescribesStructsWithTheirOwnEncodingByTheirFields(t *testing.T) {
	dir := newModule(t, txtar.Parse([]byte(wrapped)))
	files, err := generate.CRDs(t.Context(), []string{"./..."}, &generate.Options{Dir: dir, Lenient: true})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range files.Warnings {
		what, _, _ := strings.Cut(w.Message, ",")
		got = append(got, fmt.Sprintf("%d %s", w.Position.Line, what))
	}
	want := []string{
		"17 ItemSpec: it has its own MarshalJSON",
		"25 Opaque: it has its own MarshalJSON",
		"33 Pipe.Wire: a channel can't be stored in an object: remove the field",
		"37 Wrapper: it has its own MarshalJSON",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Warnings (-want +got):\n%s", diff)
	}
	wantCRD := `
          opaque:
            description: Opaque has a pipe, which has no schema.
            x-kubernetes-preserve-unknown-fields: true
          pipe:
            properties:
              wire:
                x-kubernetes-preserve-unknown-fields: true
            required:
            - wire
            type: object
          spec:
            properties:
              text:
                maxLength: 9
                type: string
            required:
            - text
            type: object
          wrapper:
            type: object
            x-kubernetes-preserve-unknown-fields: true
`
	if got := string(files.Files[0].Content); !strings.Contains(got, wantCRD) {
		t.Errorf("the CRD does not contain %s\n%s", wantCRD, got)
	}
}

// TestLenientOmitsInvalidShortNames checks that a kind with an invalid short name or category is written without it.
func TestLenientOmitsInvalidShortNames(t *testing.T) {
	src := strings.Replace(things, "kind=Thing", "kind=Thing shortName=th,TH categories=all,All", 1)
	dir := newModule(t, txtar.Parse([]byte(src)))
	files, err := generate.CRDs(t.Context(), []string{"./api"}, &generate.Options{Dir: dir, Lenient: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(files.Warnings) != 2 || len(files.Files) != 1 {
		t.Fatalf("%d files, with the warnings %v; want one, and two warnings", len(files.Files), files.Warnings)
	}
	want := "    categories:\n    - all\n    kind: Thing\n    listKind: ThingList\n    plural: things\n    shortNames:\n    - th\n    singular: thing\n"
	if got := string(files.Files[0].Content); !strings.Contains(got, want) {
		t.Errorf("the CRD does not contain %s\n%s", want, got)
	}
}

// TestLenientAppliesTheLastOfTwoMarkers checks that of two markers of the same name, the last one is in effect, as in
// controller-gen, where the names of a resource may come from any of them.
func TestLenientAppliesTheLastOfTwoMarkers(t *testing.T) {
	dir := newModule(t, txtar.Parse([]byte(`
-- api/v1/types.go --
// +groupName=twice.example.com
package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Twice has markers twice.
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=twice,shortName=tw
// +kubebuilder:resource:scope=Cluster,singular=once
type Twice struct {
	metav1.TypeMeta   `+"`json:\",inline\"`"+`
	metav1.ObjectMeta `+"`json:\"metadata,omitempty\"`"+`

	// +kubebuilder:validation:Enum=a;b
	// +kubebuilder:validation:Enum=a;c
	Spec string `+"`json:\"spec\"`"+`
}
`)))
	files, err := generate.CRDs(t.Context(), []string{"./..."}, &generate.Options{Dir: dir, Lenient: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(files.Warnings) != 2 || !strings.Contains(files.Warnings[0].Message, "+kubebuilder:resource is set twice") {
		t.Errorf("Warnings = %v, want one for each marker that is set twice", files.Warnings)
	}
	crd := string(files.Files[0].Content)
	for _, want := range []string{
		"    kind: Twice\n    listKind: TwiceList\n    plural: twice\n    singular: once\n  scope: Cluster\n",
		"            enum:\n            - a\n            - c\n",
	} {
		if !strings.Contains(crd, want) {
			t.Errorf("the CRD does not contain %s\n%s", want, crd)
		}
	}
}

// A file that can't be made any more stays, since the mistake may be about to be corrected.
func TestLenientRemovesNothing(t *testing.T) {
	dir := newModule(t, txtar.Parse([]byte(things)))
	made := write(t, run(t, dir, "./api"))
	types := filepath.Join(dir, "api/types.go")
	writeFile(t, types, strings.Replace(readFile(t, types), "kind=Thing", "kimd=Thing", 1))
	files, err := generate.Run(t.Context(), []string{"./api"}, &generate.Options{Dir: dir, Out: "config/crd", Lenient: true})
	if err != nil {
		t.Fatal(err)
	}
	if stale, err := files.Stale(); err != nil || len(stale) > 0 || len(files.Warnings) == 0 {
		t.Errorf("Stale() = %v, %v with the warnings %v; want nothing stale, and warnings", stale, err, files.Warnings)
	}
	for _, name := range made {
		readFile(t, filepath.Join(dir, name))
	}
}

func TestApprovalIsAWarning(t *testing.T) {
	for _, group := range []string{"things.k8s.io", "k8s.io", "kubernetes.io"} {
		dir := newModule(t, txtar.Parse([]byte(strings.ReplaceAll(things, "things.example.com", group))))
		files := run(t, dir, "./api")
		var got []string
		for _, w := range files.Warnings {
			got = append(got, w.String())
		}
		want := []string{`api/types.go:6:3: group "` + group + `" belongs to the Kubernetes project: ` +
			"servers reject its CRDs without the annotation api-approved.kubernetes.io: add it with " +
			"//kube:metadata or +kubebuilder:metadata:annotations"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Warnings (-want +got):\n%s", diff)
		}
	}
}
