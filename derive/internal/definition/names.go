// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package definition

import (
	"fmt"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kube-go/sdk/derive/internal/openapi"
)

// names checks the syntax of all names that are set.
func (c *checker) names(n *openapi.Names, path *field.Path) {
	label := func(path *field.Path, name, before, text string) {
		if msgs := validation.IsDNS1035Label(text); len(msgs) > 0 {
			c.add(field.Invalid(path, name, before+strings.Join(msgs, ",")))
		}
	}
	const mixed = "may have mixed case, but should otherwise match: "
	if n.Plural != "" {
		label(path.Child("plural"), n.Plural, "", n.Plural)
	}
	if n.Singular != "" {
		label(path.Child("singular"), n.Singular, "", n.Singular)
	}
	if n.Kind != "" {
		label(path.Child("kind"), n.Kind, mixed, strings.ToLower(n.Kind))
	}
	if n.ListKind != "" {
		label(path.Child("listKind"), n.ListKind, mixed, strings.ToLower(n.ListKind))
	}
	for i, name := range n.ShortNames {
		label(path.Child("shortNames").Index(i), name, "", name)
	}
	if n.Kind != "" && n.Kind == n.ListKind {
		c.add(field.Invalid(path.Child("listKind"), n.ListKind, "kind and listKind may not be the same"))
	}
	for i, name := range n.Categories {
		label(path.Child("categories").Index(i), name, "", name)
	}
}

// approved is the annotation for APIs in groups of the Kubernetes project that the project has approved, see
// https://github.com/kubernetes/enhancements/pull/1111.
const approved = "api-approved.kubernetes.io"

// approval checks that definitions in groups of the Kubernetes project have the approval annotation.
func (c *checker) approval(def *openapi.Definition) {
	group := "." + def.Spec.Group
	if !strings.HasSuffix(group, ".k8s.io") && !strings.HasSuffix(group, ".kubernetes.io") {
		return
	}
	path := field.NewPath("metadata", "annotations").Key(approved)
	text := def.Annotations[approved]
	const see = "see https://github.com/kubernetes/enhancements/pull/1111"
	if text == "" {
		c.add(field.Required(path, fmt.Sprintf("protected groups must have approval annotation %q, %s", approved, see)))
		return
	}
	if strings.HasPrefix(text, "unapproved") {
		return
	}
	if u, err := url.ParseRequestURI(text); err != nil || u.Host == "" || u.Scheme == "" {
		c.add(field.Invalid(path, text, fmt.Sprintf(
			"protected groups must have approval annotation %q with either a URL or a reason starting with \"unapproved\", %s", approved, see)))
	}
}
