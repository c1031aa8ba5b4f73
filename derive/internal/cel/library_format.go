// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"net/url"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"k8s.io/apimachinery/pkg/api/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
)

func formatType() *cel.Type { return cel.ObjectType("kubernetes.NamedFormat") }

// format is a named format of strings.
type format struct {
	name  string
	check func(string) []string
	size  int // the size of its regular expression, for cost estimates
}

// namedFormats returns the formats by their names in rules.
func namedFormats() map[string]format {
	named := func(f func(string, bool) []string, prefix bool) func(string) []string {
		return func(s string) []string { return f(s, prefix) }
	}
	text := func(name, msg string) func(string) []string {
		return func(s string) []string {
			if strfmt.Default.Validates(name, s) {
				return nil
			}
			return []string{msg}
		}
	}
	uri := func(s string) []string {
		if _, err := url.ParseRequestURI(s); err != nil {
			return []string{err.Error()}
		}
		return nil
	}
	return map[string]format{
		"dns1123Label":           {"DNS1123Label", named(validation.NameIsDNSLabel, false), 30},
		"dns1123Subdomain":       {"DNS1123Subdomain", named(validation.NameIsDNSSubdomain, false), 60},
		"dns1035Label":           {"DNS1035Label", named(validation.NameIsDNS1035Label, false), 30},
		"qualifiedName":          {"QualifiedName", utilvalidation.IsQualifiedName, 60},
		"dns1123LabelPrefix":     {"DNS1123LabelPrefix", named(validation.NameIsDNSLabel, true), 30},
		"dns1123SubdomainPrefix": {"DNS1123SubdomainPrefix", named(validation.NameIsDNSSubdomain, true), 60},
		"dns1035LabelPrefix":     {"DNS1035LabelPrefix", named(validation.NameIsDNS1035Label, true), 30},
		"labelValue":             {"LabelValue", utilvalidation.IsValidLabelValue, 40},
		"uri":                    {"URI", uri, 1103},
		"uuid":                   {"uuid", text("uuid", "does not match the UUID format"), len(strfmt.UUIDPattern)},
		"byte":                   {"byte", text("byte", "invalid base64"), 84},
		"date":                   {"date", text("date", "invalid date"), len(strfmt.DateTimePattern)},
		"datetime":               {"datetime", text("datetime", "invalid datetime"), len(strfmt.DateTimePattern)},
	}
}

// formats returns the functions of https://kubernetes.io/docs/reference/using-api/cel/#kubernetes-format-library.
func formats() functions {
	t := formatType()
	byName := map[string]ref.Val{}
	f := functions{}
	for name, named := range namedFormats() {
		v := &extension{t, named, named.name, func(other any) bool {
			o, ok := other.(format)
			return ok && o.name == named.name
		}}
		byName[name] = v
		id := "format." + name
		f[id] = []cel.FunctionOpt{cel.Overload(id, nil, t, cel.FunctionBinding(func(...ref.Val) ref.Val { return v }))}
	}
	f["format.named"] = []cel.FunctionOpt{function("format-named", cel.StringType, cel.OptionalType(t), func(name string) ref.Val {
		if v, ok := byName[name]; ok {
			return types.OptionalOf(v)
		}
		return types.OptionalNone
	})}
	f["validate"] = []cel.FunctionOpt{member1("format-validate", t, cel.StringType, cel.OptionalType(cel.ListType(cel.StringType)),
		func(f format, text string) ref.Val {
			if msgs := f.check(text); len(msgs) > 0 {
				return types.OptionalOf(types.NewStringList(types.DefaultTypeAdapter, msgs))
			}
			return types.OptionalNone
		})}
	return f
}
