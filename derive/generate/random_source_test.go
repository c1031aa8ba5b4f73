// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package generate_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// randomSource writes a package with a kind whose types, tags and markers follow from a seed. It compiles; whether it
// makes sense is for the generator to find out.
func randomSource(seed uint64, pkg string) string {
	r := &sourceWriter{Rand: rand.New(rand.NewPCG(seed, 0))} //nolint:gosec // chance that can be repeated
	n := 3 + r.IntN(6)
	r.kinds = make([]string, n)
	for i := range r.kinds {
		r.kinds[i] = pick(r.Rand, "struct", "struct", "struct", "generic", "text", "number", "list", "map", "alias")
	}
	fmt.Fprintf(&r.out, "//kube:resource group=random.example.com version=v1 kind=%s\n", strings.ToUpper(pkg[:1])+pkg[1:])
	r.structType("Spec", 0)
	for i := range r.kinds {
		r.declare(i)
	}
	var head strings.Builder
	fmt.Fprintf(&head, "package %s\n\nimport (\n", pkg)
	for _, im := range randomImports() {
		if strings.Contains(r.out.String(), im[0]+".") {
			fmt.Fprintf(&head, "\t%s %q\n", im[0], im[1])
		}
	}
	return head.String() + ")\n\n" + r.out.String()
}

func randomImports() [][2]string {
	return [][2]string{
		{"json", "encoding/json"},
		{"time", "time"},
		{"netip", "net/netip"},
		{"big", "math/big"},
		{"url", "net/url"},
		{"corev1", "k8s.io/api/core/v1"},
		{"resource", "k8s.io/apimachinery/pkg/api/resource"},
		{"metav1", "k8s.io/apimachinery/pkg/apis/meta/v1"},
		{"runtime", "k8s.io/apimachinery/pkg/runtime"},
		{"intstr", "k8s.io/apimachinery/pkg/util/intstr"},
	}
}

func pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

// sourceWriter writes declarations. Type i is called Ti. By value, a type has only those that come later in it, so that
// none has itself in it.
type sourceWriter struct {
	*rand.Rand
	out   strings.Builder
	kinds []string
}

// often is true in most cases.
func (r *sourceWriter) often() bool { return r.IntN(40) > 0 }

func (r *sourceWriter) declare(i int) {
	name := fmt.Sprintf("T%d", i)
	r.out.WriteString("\n")
	switch r.kinds[i] {
	case "struct":
		r.structType(name, i+1)
	case "generic":
		fmt.Fprintf(&r.out, "type %s[P any] struct {\n\tValue P `json:\"value\"`\n\tMore []P `json:\"more,omitempty\"`\n}\n", name)
	case "text":
		r.markers("", "string")
		fmt.Fprintf(&r.out, "type %s string\n", name)
		if r.IntN(3) == 0 {
			fmt.Fprintf(&r.out, "\nconst (\n\t%[1]sA %[1]s = \"a\"\n\t%[1]sB %[1]s = \"b\"\n)\n", name)
		}
		if r.IntN(6) == 0 {
			fmt.Fprintf(&r.out, "\nfunc (%s) %s() ([]byte, error) { return nil, nil }\n", name, pick(r.Rand, "MarshalText", "MarshalJSON"))
		}
	case "number":
		r.markers("", "integer")
		fmt.Fprintf(&r.out, "type %s %s\n", name, pick(r.Rand, "int", "int32", "uint8", "int64"))
	case "list":
		r.markers("", "array")
		fmt.Fprintf(&r.out, "type %s []%s\n", name, r.typ(i+1, 1, true))
	case "map":
		r.markers("", "object")
		fmt.Fprintf(&r.out, "type %s map[string]%s\n", name, r.typ(i+1, 1, true))
	case "alias":
		fmt.Fprintf(&r.out, "type %s = %s\n", name, r.typ(i+1, 1, false))
	}
}

// structType writes a struct that may have the types from first on in it.
func (r *sourceWriter) structType(name string, first int) {
	var body strings.Builder
	outer := r.out
	r.out = body
	embedded := map[string]bool{}
	for i := range 1 + r.IntN(7) {
		typ := r.typ(first, 2, false)
		switch {
		case r.IntN(9) == 0 && first < len(r.kinds) && r.kinds[first] == "struct" && !embedded[fmt.Sprint("T", first)]:
			embedded[fmt.Sprint("T", first)] = true
			fmt.Fprintf(&r.out, "\t%sT%d `json:\",inline\"`\n", pick(r.Rand, "", "*"), first)
		default:
			r.markers("\t", schemaType(typ))
			fmt.Fprintf(&r.out, "\tF%d %s `json:%q%s`\n", i, typ, r.jsonTag(i, typ), r.schemaTag(schemaType(typ)))
		}
	}
	fields := r.out.String()
	r.out = outer
	if r.IntN(8) == 0 {
		r.out.WriteString(pick(r.Rand, "// +kubebuilder:validation:ExactlyOneOf=f0;f1\n", "// +kubebuilder:validation:AtMostOneOf=f1;f2\n",
			"// +structType=atomic\n", "// +kubebuilder:validation:MinProperties=1\n",
			"// +kubebuilder:validation:XValidation:rule=\"has(self.f0)\"\n"))
	}
	fmt.Fprintf(&r.out, "type %s struct {\n%s}\n", name, fields)
}

// typ spells a type. Those from first on may be in it by value; behind a pointer, a list or a map, any may.
func (r *sourceWriter) typ(first, depth int, behind bool) string {
	if depth > 0 && r.IntN(3) == 0 {
		switch r.IntN(6) {
		case 0:
			return "*" + r.typ(first, depth-1, true)
		case 1, 2:
			return "[]" + r.typ(first, depth-1, true)
		case 3, 4:
			key := "string"
			if !r.often() {
				key = pick(r.Rand, "int", "netip.Addr", "bool")
			}
			return "map[" + key + "]" + r.typ(first, depth-1, true)
		default:
			return fmt.Sprintf("[%d]%s", r.IntN(3), r.typ(first, depth-1, behind))
		}
	}
	if behind && r.IntN(40) == 0 {
		first = 0
	}
	if first < len(r.kinds) && r.IntN(3) > 0 {
		i := first + r.IntN(len(r.kinds)-first)
		if r.kinds[i] == "generic" {
			return fmt.Sprintf("T%d[%s]", i, r.typ(i+1, depth-1, behind && first > 0))
		}
		return fmt.Sprintf("T%d", i)
	}
	if !r.often() {
		return pick(r.Rand, "any", "func()", "chan int", "complex64", "big.Int", "url.URL", "json.RawMessage", "error", "uintptr",
			"struct{ X int }", "struct{}", "runtime.Object", "corev1.PodSpec", "corev1.PodTemplateSpec")
	}
	return pick(r.Rand, "string", "string", "bool", "int", "int32", "int64", "uint8", "float64", "[]byte", "time.Duration", "time.Time",
		"metav1.Time", "metav1.Duration", "metav1.Condition", "metav1.ObjectMeta", "metav1.LabelSelector", "runtime.RawExtension",
		"intstr.IntOrString", "resource.Quantity", "corev1.ResourceList", "corev1.EnvVar", "netip.Addr", "json.Number",
		"struct {\n\t\tIn string `json:\"in\"`\n\t}")
}

func schemaType(typ string) string {
	typ = strings.TrimLeft(typ, "*")
	switch {
	case typ == "string", typ == "[]byte", typ == "metav1.Duration", typ == "netip.Addr":
		return "string"
	case strings.HasPrefix(typ, "["):
		return "array"
	case strings.HasPrefix(typ, "map"), strings.HasPrefix(typ, "struct"), typ == "corev1.ResourceList":
		return "object"
	case strings.HasPrefix(typ, "int"), strings.HasPrefix(typ, "uint"), typ == "time.Duration":
		return "integer"
	case typ == "float64":
		return "number"
	case typ == "bool":
		return "boolean"
	}
	return ""
}

func (r *sourceWriter) jsonTag(i int, typ string) string {
	name := fmt.Sprintf("f%d", i)
	if !r.often() {
		name = pick(r.Rand, "f0", "", "-", "metadata", "a-b.c/d", "in")
	}
	tag := name + pick(r.Rand, "", "", ",omitempty", ",omitempty", ",omitzero")
	if schemaType(typ) == "integer" && r.IntN(6) == 0 {
		tag += ",string"
	}
	return tag
}

// markers writes a few markers, most of which suit a type.
func (r *sourceWriter) markers(indent, typ string) {
	const v = "kubebuilder:validation:"
	byType := map[string][]string{
		"string":  {v + "MinLength=1", v + "MaxLength=9", v + "Pattern=`^a+$`", v + "Enum=a;b", v + "Format=hostname"},
		"integer": {v + "Minimum=1", v + "Maximum=9", v + "Enum=1;2", v + "Minimum=0\n// +" + v + "ExclusiveMinimum=true", v + "MultipleOf=2"},
		"number":  {v + "Minimum=0.5", v + "Maximum=9"},
		"array": {
			v + "MinItems=1", v + "MaxItems=9", "listType=atomic", "listType=atomic", "listType=set", "listType=map\n// +listMapKey=f0",
			v + "items:MaxLength=5", v + "UniqueItems=false",
		},
		"object": {v + "MinProperties=1", v + "MaxProperties=9", "mapType=atomic", "mapType=granular", v + "XEmbeddedResource\n// +" + v + "XPreserveUnknownFields"},
		"": {
			"kubebuilder:pruning:PreserveUnknownFields", "kubebuilder:title=T", "kubebuilder:validation:XValidation:rule=\"true\"",
			v + "Type=object", v + "Type=string", v + "XPreserveUnknownFields", v + "XIntOrString",
		},
	}
	onField := []string{
		"optional", "required", "nullable", v + "Schemaless\n// +kubebuilder:pruning:PreserveUnknownFields", "k8s:immutable",
	}
	defaults := map[string][]string{"string": {"aa"}, "integer": {"2"}, "number": {"2.5"}, "boolean": {"true"}, "array": {"{}"}, "object": {"{}"}}
	for _, value := range defaults[typ] {
		onField = append(onField, "kubebuilder:default="+value)
	}
	if !r.often() {
		onField = []string{
			"kubebuilder:default=a", "kubebuilder:default=1", "kubebuilder:default={}", v + "Schemaless", "kubebuilder:default={a,b}",
			"kubebuilder:default={f0: a}", v + "EmbeddedResource",
		}
	}
	given := map[string]bool{}
	for range max(0, r.IntN(6)-3) {
		list := byType[typ]
		switch {
		case !r.often():
			list = byType[pick(r.Rand, "string", "integer", "array", "object", "")]
		case indent != "" && r.IntN(3) == 0:
			list = onField
		}
		if len(list) == 0 {
			continue
		}
		m := pick(r.Rand, list...)
		if name, _, _ := strings.Cut(m, "="); !given[name] {
			given[name] = true
			fmt.Fprintf(&r.out, "%s// +%s\n", indent, strings.ReplaceAll(m, "\n", "\n"+indent))
		}
	}
}

// schemaTag spells a jsonschema tag now and then.
func (r *sourceWriter) schemaTag(typ string) string {
	byType := map[string][]string{
		"string":  {"minLength=1", "maxLength=9", "enum=a", "default=aa", "pattern=^a"},
		"integer": {"minimum=1", "maximum=9", "enum=1", "default=1"},
		"array":   {"minItems=1", "maxItems=9"},
		"":        {"title=T", "description=D", "required", "nullable", "oneof_required=a", "type=string", "oneof_type=integer;string", "uniqueItems=true"},
	}
	if r.IntN(6) > 0 {
		return ""
	}
	list := byType[typ]
	switch {
	case !r.often():
		return fmt.Sprintf(" jsonschema_extras:%q", pick(r.Rand, "x-kubernetes-list-type=set", "x-kubernetes-map-type=atomic", "x-kubernetes-nothing=1"))
	case r.IntN(4) == 0:
		return fmt.Sprintf(" jsonschema_extras:%q", pick(r.Rand, "x-kubernetes-preserve-unknown-fields=true", "x-kubernetes-validations=true"))
	case len(list) == 0 || r.IntN(4) == 0:
		list = byType[""]
	}
	return fmt.Sprintf(" jsonschema:%q", pick(r.Rand, list...))
}
