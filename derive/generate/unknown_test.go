// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package generate_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/kube-go/sdk/derive/generate"
)

func TestUnknownTypesAreReportedInTheSources(t *testing.T) {
	dir := newModule(t, txtar.Parse([]byte(`
-- api/types.go --
// +groupName=things.example.com
// +kubebuilder:object:generate=true
package api

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/test/gone"
)

// +kubebuilder:object:root=true
type Thing struct {
	metav1.TypeMeta   `+"`json:\",inline\"`"+`
	metav1.ObjectMeta `+"`json:\"metadata,omitempty\"`"+`

	Spec   *ThingSpec  `+"`json:\"spec\"`"+`
	Status ThingStatus `+"`json:\"status\"`"+`
}

type ThingSpec struct {
	Name Mane `+"`json:\"name\"`"+`
}

type ThingStatus struct {
	Gone []gone.Gone `+"`json:\"gone\"`"+`

	gone.Base `+"`json:\",inline\"`"+`
}
`)))
	const missing = "api/types.go:8:2: could not import example.com/test/gone " +
		"(no required module provides package example.com/test/gone; to add it: go get example.com/test/gone)\n"
	for _, tt := range []struct {
		name string
		run  func(context.Context, []string, *generate.Options) (*generate.Files, error)
		want string
	}{
		{"CRDs", generate.CRDs, missing + "api/types.go:21:2: ThingSpec.Name: undefined: Mane\n" +
			"api/types.go:25:2: ThingStatus.Gone: the type is unknown: it is from C or from a missing package: use a Go type, or correct the import\n" +
			"api/types.go:27:7: ThingStatus.Base: the type is unknown: it is from C or from a missing package: use a Go type, or correct the import"},
		{"DeepCopies", generate.DeepCopies, missing + "api/types.go:21:2: ThingSpec: field Name: undefined: Mane\n" +
			"api/types.go:25:2: ThingStatus: field Gone: no deep copy: its type is unknown"},
		{"Apply", generate.Apply, missing + "api/types.go:21:2: Name: undefined: Mane\n" +
			"api/types.go:25:2: Gone: no apply struct: its type is unknown\n" +
			"api/types.go:27:7: Base: no apply struct: its type is unknown"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := tt.run(t.Context(), []string{"./..."}, &generate.Options{Dir: dir})
			if err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff(tt.want, err.Error()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
