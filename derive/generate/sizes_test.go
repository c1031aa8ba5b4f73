// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package generate_test

import (
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/kube-go/sdk/derive/generate"
)

// pods is a module with kinds that have nothing but whole pods.
const pods = `
-- one/api.go --
package one

import corev1 "k8s.io/api/core/v1"

//kube:resource group=pods.example.com version=v1 kind=Pods
type PodsSpec struct {
	A corev1.PodSpec ` + "`json:\"a\"`" + `
}
-- many/api.go --
package many

import corev1 "k8s.io/api/core/v1"

//kube:resource group=pods.example.com version=v1 kind=Pods
type PodsSpec struct {
	A corev1.PodSpec ` + "`json:\"a\"`" + `
	B corev1.PodSpec ` + "`json:\"b\"`" + `
	C corev1.PodSpec ` + "`json:\"c\"`" + `
	D corev1.PodSpec ` + "`json:\"d\"`" + `
	E corev1.PodSpec ` + "`json:\"e\"`" + `
}
`

func TestLargeDefinitions(t *testing.T) {
	dir := newModule(t, txtar.Parse([]byte(pods)))
	for _, tt := range []struct {
		name    string
		pattern string
		max     int
		wantErr string
	}{
		{"more than servers store is a mistake", "./many", 0, "API servers store at most 1572864 bytes: shorten its descriptions, for example with kube-derive -max-size"},
		{"more than kubectl apply takes is said", "./one", 300_000, ""},
		{"what can't be made small enough is a mistake", "./one", 40_000, "bytes even without the descriptions that may be removed, and the limit is 40000"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			files, err := generate.CRDs(t.Context(), []string{tt.pattern}, &generate.Options{Dir: dir, MaxBytes: tt.max})
			if tt.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tt.wantErr) {
					t.Errorf("CRDs() = %v, want %q", err, tt.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(files.Notes) != 1 || !strings.Contains(files.Notes[0].String(), "crds/pods.example.com_pods.yaml: it has ") {
				t.Errorf("notes = %v, want one of the CRD's size", files.Notes)
			}
		})
	}
}
