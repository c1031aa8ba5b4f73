// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package generate_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/kube-go/sdk/derive/generate"
)

// houses has two versions with types of one name, descriptions that other generators stumble over, and a type of
// another module.
const houses = `
-- api/v1/types.go --
// +groupName=houses.example.com
package v1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/test/shared"
)

// House is where people live.
// +kubebuilder:resource:shortName=hs,scope=Cluster
// +kubebuilder:deprecatedversion:warning="use <v2>"
// +kubebuilder:unservedversion
// +kubebuilder:storageversion
type House struct {
	metav1.TypeMeta   ` + "`json:\",inline\"`" + `
	metav1.ObjectMeta ` + "`json:\"metadata,omitempty\"`" + `

	Spec HouseSpec ` + "`json:\"spec\"`" + `
}

// HouseSpec is what it is like.
type HouseSpec struct {
	// Rooms are of the form <floor>/<room>, for example:
	//
	//	rooms:
	//	- <1>/<2>
	//
	//   - one
	//   - two
	//
	// +kubebuilder:validation:items:Pattern="^a|b` + "`" + `{2}$"
	// +kubebuilder:validation:MaxItems=3
	// +listType=set
	// +kubebuilder:example={"a/2"}
	Rooms []string ` + "`json:\"rooms,omitempty\"`" + `

	// +kubebuilder:validation:items:XValidation:rule="self != 'a'",message="not a"
	// +kubebuilder:validation:MaxItems=2
	Rules []string ` + "`json:\"rules,omitempty\"`" + `

	// +k8s:eachVal=+k8s:eachVal=+k8s:maxLength=4
	// +k8s:eachVal=+k8s:eachVal=+k8s:neq="b"
	Floors Floors ` + "`json:\"floors,omitempty\"`" + `

	// +k8s:subfield(name)=+k8s:maxLength=5
	// +k8s:subfield(name)=+k8s:neq="c"
	// +k8s:subfield(rooms)=+k8s:eachVal=+k8s:neq="d"
	// +k8s:subfield(rooms)=+k8s:required
	// +k8s:subfield(rooms)=+k8s:maxItems=2
	Narrow *Inner ` + "`json:\"narrow,omitempty\"`" + `

	Template corev1.PodTemplateSpec ` + "`json:\"template\"`" + `
	Door     shared.Door            ` + "`json:\"door\"`" + `
	Doors    map[string]*shared.Door ` + "`json:\"doors,omitempty\"`" + `
	Spec     *Inner ` + "`json:\"spec,omitempty\"`" + `
	More     []struct {
		Wide bool ` + "`json:\"wide\"`" + `
	} ` + "`json:\"more,omitempty\"`" + `
}

// Inner has an anchor that another has too.
type Inner struct {
	// +kubebuilder:validation:XValidation:rule="self != '<a>'",message="not <a>"
	Name string ` + "`json:\"name\"`" + `

	Rooms []string ` + "`json:\"rooms,omitempty\"`" + `
}

// Floors have rooms.
// +kubebuilder:validation:MaxItems=2
type Floors []Rooms

// Rooms have names.
// +kubebuilder:validation:MaxItems=2
type Rooms []string

// HouseSpecName is never used as a type with fields.
type HouseSpecSpec string
-- api/v2/types.go --
// +groupName=houses.example.com
package v2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// +kubebuilder:resource:scope=Cluster
type House struct {
	metav1.TypeMeta   ` + "`json:\",inline\"`" + `
	metav1.ObjectMeta ` + "`json:\"metadata,omitempty\"`" + `
}
-- shared/shared.go --
package shared

// Door opens.
type Door struct {
	// +kubebuilder:validation:Enum=open;closed
	// +kubebuilder:default=closed
	State string ` + "`json:\"state,omitempty\"`" + `
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=9
	// +kubebuilder:validation:ExclusiveMaximum=true
	Width *int32 ` + "`json:\"width,omitempty\"`" + `
}
`

func TestMarkdownSaysWhatOneWantsToKnow(t *testing.T) {
	dir := newModule(t, txtar.Parse([]byte(houses)))
	files, err := generate.Markdown(t.Context(), []string{"./api/..."}, &generate.Options{Dir: dir, Out: "out"})
	if err != nil {
		t.Fatal(err)
	}
	if names := write(t, files); strings.Join(names, " ") != "out/houses.example.com_v1.md out/houses.example.com_v2.md" {
		t.Fatalf("Write = %v", names)
	}
	text := readFile(t, filepath.Join(dir, "out/houses.example.com_v1.md"))
	for _, want := range []string{
		"- **Resource**: `houses.houses.example.com`, cluster\n- **Short names**: `hs`\n- **Deprecated**: use \\<v2>\n- **Not served**: ",
		"**`rooms`** (\\[\\]string)\n\n  Rooms are of the form \\<floor>/\\<room>, for example:\n\n  ```\n  rooms:\n  - <1>/<2>\n  ```\n\n  - one\n  - two\n\n" +
			"  At most 3 items. Items are unique. Example: `[\"a/2\"]`. Each item: matches ``^a|b`{2}$``.\n",
		"**`template`** ([PodTemplateSpec](https://kubernetes.io/docs/reference/generated/kubernetes-api/v1.37/#podtemplatespec-v1-core), **required**)",
		"**`rules`** (\\[\\]string)\n\n  At most 2 items.\n\n  - Rule of each item: `self != 'a'`, otherwise: not a\n",
		"**`floors`** ([Floors](#floors))\n\n  Each item: each item: at most 4 characters.\n\n" +
			"  - Rule of each item of each item: `self != \"b\"`, otherwise: may not be \"b\"\n",
		"**`narrow`** ([Inner](#inner))\n\n  Requires the field `rooms`. " +
			"Field `name`: at most 5 characters. Field `rooms`: 1 to 2 items.\n\n" +
			"  - Rule of field `name`: `self != \"c\"`, otherwise: may not be \"c\"\n" +
			"  - Rule of each item of field `rooms`: `self != \"d\"`, otherwise: may not be \"d\"\n",
		"**`doors`** (map\\[string\\][Door](#door))",
		"**`more[].wide`** (boolean, **required**)",
		"  - Rule: `self != '<a>'`, otherwise: not \\<a>\n",
		"**`state`** (string)\n\n  Default: `\"closed\"`. One of `open`, `closed`.\n",
		"**`width`** (integer)\n\n  At least 1. Less than 9.\n",
		"Used by: [HouseSpec](#housespec)\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not have\n%s", want)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}

// Every link leads somewhere, every place has a name of its own, and every tag is closed.
func TestPagesAreWhole(t *testing.T) {
	dir := newModule(t, txtar.Parse([]byte(houses)))
	anchor, link := regexp.MustCompile(`id="([^"]*)"`), regexp.MustCompile(`(?:href="|\]\()#([^")]*)[")]`)
	for _, in := range []struct{ dir, pattern string }{{dir, "./api/..."}, {"testdata/zoo", "."}, {"", "k8s.io/api/coordination/v1"}} {
		for _, output := range []what{{"markdown", generate.Markdown}, {"html", generate.HTML}} {
			files, err := output.fn(t.Context(), []string{in.pattern}, &generate.Options{Dir: in.dir})
			if err != nil || len(files.Files) == 0 {
				t.Fatalf("%s of %s: %v", output.name, in.pattern, err)
			}
			for _, f := range files.Files {
				places, links := map[string]bool{}, 0
				for _, m := range anchor.FindAllSubmatch(f.Content, -1) {
					if places[string(m[1])] {
						t.Errorf("%s: there are two places %s", f.Path, m[1])
					}
					places[string(m[1])] = true
				}
				for _, m := range link.FindAllSubmatch(f.Content, -1) {
					links++
					if !places[string(m[1])] {
						t.Errorf("%s: there is no place %s", f.Path, m[1])
					}
				}
				if len(places) == 0 || links == 0 {
					t.Errorf("%s: %d places, %d links", f.Path, len(places), links)
				}
				if output.name == "html" {
					closed(t, f)
				}
			}
		}
	}
}

// closed checks that the tags of a page match.
func closed(t *testing.T, f generate.File) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(f.Content))
	d.Entity = xml.HTMLEntity
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Errorf("%s: %v", f.Path, err)
			return
		}
	}
}
