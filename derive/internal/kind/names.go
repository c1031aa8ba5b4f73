// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"cmp"
	"fmt"
	"go/token"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// names fills in the names that follow from others.
func (f *finder) names(k *Kind) {
	k.Singular = cmp.Or(k.Singular, strings.ToLower(k.Name))
	k.Plural = cmp.Or(k.Plural, Pluralize(strings.ToLower(k.Name)))
}

// Pluralize returns the plural of a lower-case English noun, by rule: box → boxes, policy → policies, gateway → gateways.
func Pluralize(noun string) string {
	for _, ending := range []string{"s", "x", "z", "ch", "sh"} {
		if strings.HasSuffix(noun, ending) {
			return noun + "es"
		}
	}
	if stem, ok := strings.CutSuffix(noun, "y"); ok && stem != "" && !strings.ContainsRune("aeiou", rune(stem[len(stem)-1])) {
		return stem + "ies"
	}
	return noun + "s"
}

// valid reports whether a server will take the names. Those that it won't are reported.
func (f *finder) valid(k *Kind) bool {
	ok := true
	wrong := func(format string, args ...any) {
		f.report(k.Pos, fmt.Sprintf(format, args...))
		ok = false
	}
	if errs := validation.IsDNS1123Subdomain(k.Group); len(errs) > 0 || !strings.Contains(k.Group, ".") {
		wrong("group %q must be a domain name with a dot in it, such as docs.example.com", k.Group)
	}
	if len(validation.IsDNS1035Label(k.Version)) > 0 {
		wrong("version %q must be a lower-case label, such as v1 or v1alpha1", k.Version)
	}
	if !token.IsExported(k.Name) || !token.IsIdentifier(k.Name) || len(validation.IsDNS1035Label(strings.ToLower(k.Name))) > 0 {
		wrong("kind %q must be an exported Go name of letters and digits", k.Name)
	}
	label := func(what string, names ...string) {
		for _, name := range names {
			if len(validation.IsDNS1035Label(name)) > 0 {
				wrong("%s %q must be of lower-case letters, digits and dashes", what, name)
			}
		}
	}
	label("plural", k.Plural)
	label("singular", k.Singular)
	label("shortName", k.ShortNames...)
	label("category", k.Categories...)
	const approved = "api-approved.kubernetes.io"
	if (strings.HasSuffix(k.Group, ".k8s.io") || strings.HasSuffix(k.Group, ".kubernetes.io")) && k.Annotations[approved] == "" {
		wrong("group %q belongs to the Kubernetes project: servers want the annotation %s on its CRDs", k.Group, approved)
	}
	return ok
}
