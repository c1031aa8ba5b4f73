// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package finder

import (
	"cmp"
	"fmt"
	"go/token"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kube-go/sdk/derive/internal/kind"
)

// names sets the names that follow from others.
func (f *finder) names(k *kind.Kind) {
	k.Singular = cmp.Or(k.Singular, strings.ToLower(k.Name))
	k.Plural = cmp.Or(k.Plural, kind.Pluralize(k.Name))
}

// valid reports whether servers accept the names. It reports the invalid ones, and removes invalid short names and
// categories, without which the kind is the same.
func (f *finder) valid(k *kind.Kind) bool {
	ok := true
	wrong := func(format string, args ...any) {
		f.report(k.Pos, fmt.Sprintf(format, args...))
		ok = false
	}
	if errs := validation.IsDNS1123Subdomain(k.Group); len(errs) > 0 || !strings.Contains(k.Group, ".") {
		wrong("group %q is invalid: use a domain name with a dot, such as docs.example.com", k.Group)
	}
	if len(validation.IsDNS1035Label(k.Version)) > 0 {
		wrong("version %q must be a lower-case label, such as v1 or v1alpha1", k.Version)
	}
	if !token.IsExported(k.Name) || !token.IsIdentifier(k.Name) || len(validation.IsDNS1035Label(strings.ToLower(k.Name))) > 0 {
		wrong("kind %q must be an exported Go name of letters and digits", k.Name)
	}
	label := func(what, name string) bool {
		valid := len(validation.IsDNS1035Label(name)) == 0
		if !valid {
			f.report(k.Pos, fmt.Sprintf("%s %q must be of lower-case letters, digits and dashes", what, name))
		}
		return valid
	}
	ok = label("plural", k.Plural) && ok
	ok = label("singular", k.Singular) && ok
	k.ShortNames = slices.DeleteFunc(slices.Clone(k.ShortNames), func(name string) bool { return !label("shortName", name) })
	k.Categories = slices.DeleteFunc(slices.Clone(k.Categories), func(name string) bool { return !label("category", name) })
	return ok
}
