// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package marker_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-go/sdk/derive/internal/marker"
)

func TestParseUnderstands(t *testing.T) {
	n := func(s string) json.Number { return json.Number(s) }
	for _, tt := range []struct {
		name string
		in   string
		want *marker.Marker
	}{
		{"a comment that is not a marker", "// Title shown to readers.", nil},
		{"a marker of another tool", "// +genclient:nonNamespaced", nil},
		{"a marker of another Kubernetes generator", "// +k8s:openapi-gen=true", nil},
		{"a marker with the same prefix", "// +k8s:prerelease-lifecycle-gen:introduced=1.2", nil},
		{"a marker with an ambiguous name", "// +k8s:supportsSubresource=/status", nil},
		{"a sentence that begins with a marker's name", "// kubebuilder:default is for fields.", nil},
		{"an item of a list", "// + kubebuilder is a tool", nil},
		{"prose that begins with kube:", "// kube: clients of the SDK.", nil},
		{"prose that begins with a name in kube:", "// kube:clients, see there", nil},
		{"prose in a block comment", "/*\nkube: clients of the SDK.\n*/", nil},
		{"a plus in prose", "// +1 for this", nil},
		{"a marker in an example", "//\t+kubebuilder:validation:MaxLength=x", nil},
		{"a block comment", "/* nothing here */", nil},
		{
			"ours, with all kinds of values",
			`//kube:resource group=docs.example.com version=v1 kind=Document shortName=d,doc shortName=docs scope=Cluster storage=false deprecated="use v2"`,
			&marker.Marker{Name: "kube:resource", Offset: 2, Args: marker.Args{
				"group": "docs.example.com", "version": "v1", "kind": "Document", "shortName": []string{"d", "doc", "docs"},
				"scope": "Cluster", "storage": false, "deprecated": "use v2",
			}},
		},
		{
			"ours, with an argument that needs no value",
			"//kube:subresource status",
			&marker.Marker{Name: "kube:subresource", Offset: 2, Args: marker.Args{"status": ""}},
		},
		{
			"ours, with a path that has quotes and brackets",
			`//kube:printcolumn name=Ready jsonPath=.status.conditions[?(@.type == "Is Ready")].status priority=1`,
			&marker.Marker{Name: "kube:printcolumn", Offset: 2, Args: marker.Args{
				"name": "Ready", "jsonPath": `.status.conditions[?(@.type == "Is Ready")].status`, "priority": n("1"),
			}},
		},
		{
			"ours, with free text",
			"//kube:description A Document is a=text.",
			&marker.Marker{Name: "kube:description", Offset: 2, Args: marker.Args{"": "A Document is a=text."}},
		},
		{"a flag", "// +optional", &marker.Marker{Name: "optional", Offset: 3, Args: marker.Args{"": true}}},
		{"a flag that is true", "// +nullable=true", &marker.Marker{Name: "nullable", Offset: 3, Args: marker.Args{"": true}}},
		{
			"a marker right behind the slashes",
			"//+kubebuilder:validation:MaxLength=80",
			&marker.Marker{Name: "kubebuilder:validation:MaxLength", Offset: 2, Args: marker.Args{"": n("80")}},
		},
		{
			"a marker about items",
			"// +kubebuilder:validation:items:Minimum=-1.5",
			&marker.Marker{Name: "kubebuilder:validation:Minimum", Items: true, Offset: 3, Args: marker.Args{"": n("-1.5")}},
		},
		{
			"a bare pattern with anything in it",
			"// +kubebuilder:validation:Pattern=^[a-z]{1,3};.*$",
			&marker.Marker{Name: "kubebuilder:validation:Pattern", Offset: 3, Args: marker.Args{"": "^[a-z]{1,3};.*$"}},
		},
		{
			"a quoted pattern",
			"// +kubebuilder:validation:Pattern=`^\"[a-z]$`",
			&marker.Marker{Name: "kubebuilder:validation:Pattern", Offset: 3, Args: marker.Args{"": `^"[a-z]$`}},
		},
		{
			"an enum with semicolons",
			`// +kubebuilder:validation:Enum=a;"b;c";3;true;""`,
			&marker.Marker{Name: "kubebuilder:validation:Enum", Offset: 3, Args: marker.Args{"": []any{"a", "b;c", n("3"), true, ""}}},
		},
		{
			"an enum in braces",
			`// +kubebuilder:validation:Enum={"a", b , 3}`,
			&marker.Marker{Name: "kubebuilder:validation:Enum", Offset: 3, Args: marker.Args{"": []any{"a", "b", n("3")}}},
		},
		{
			"arguments with commas",
			"// +kubebuilder:printcolumn:name=\"Ready\",type=string,JSONPath=`.status.conditions[?(@.type==\"a,b\")].status`,priority=1",
			&marker.Marker{Name: "kubebuilder:printcolumn", Offset: 3, Args: marker.Args{
				"name": "Ready", "type": "string", "JSONPath": `.status.conditions[?(@.type=="a,b")].status`, "priority": n("1"),
			}},
		},
		{
			"lists as arguments",
			"// +kubebuilder:resource:path=zoos,shortName=z;zz,categories={all,animals},scope=Cluster",
			&marker.Marker{Name: "kubebuilder:resource", Offset: 3, Args: marker.Args{
				"path": "zoos", "shortName": []string{"z", "zz"}, "categories": []string{"all", "animals"}, "scope": "Cluster",
			}},
		},
		{
			"a rule",
			`// +kubebuilder:validation:XValidation:rule="self.a != \"x, y\"",optionalOldSelf=true`,
			&marker.Marker{Name: "kubebuilder:validation:XValidation", Offset: 3, Args: marker.Args{
				"rule": `self.a != "x, y"`, "optionalOldSelf": true,
			}},
		},
		{"a default with a colon", "// +kubebuilder:default:=5", &marker.Marker{Name: "kubebuilder:default", Offset: 3, Args: marker.Args{"": n("5")}}},
		{"a default text", "// +kubebuilder:default=10Mi", &marker.Marker{Name: "kubebuilder:default", Offset: 3, Args: marker.Args{"": "10Mi"}}},
		{
			"a default object",
			`// +kubebuilder:default={name: "x", "port": 3, tags: {a, b}, deep: {k: true}, empty: {}}`,
			&marker.Marker{Name: "kubebuilder:default", Offset: 3, Args: marker.Args{"": map[string]any{
				"name": "x", "port": n("3"), "tags": []any{"a", "b"}, "deep": map[string]any{"k": true}, "empty": map[string]any{},
			}}},
		},
		{
			"a default in JSON",
			`// +kubebuilder:default=[{"a":1},null]`,
			&marker.Marker{Name: "kubebuilder:default", Offset: 3, Args: marker.Args{"": []any{map[string]any{"a": n("1")}, nil}}},
		},
		{
			"a default list of objects",
			`// +kubebuilder:default={{a: 1},{a: {{b: "x"}}}}`,
			&marker.Marker{Name: "kubebuilder:default", Offset: 3, Args: marker.Args{"": []any{
				map[string]any{"a": n("1")}, map[string]any{"a": []any{map[string]any{"b": "x"}}},
			}}},
		},
		{"a note", "// +k8s:maxItems=3 # for now", &marker.Marker{Name: "k8s:maxItems", Offset: 3, Args: marker.Args{"": n("3")}}},
		{"a default list", "// +kubebuilder:default=a;b", &marker.Marker{Name: "kubebuilder:default", Offset: 3, Args: marker.Args{"": []any{"a", "b"}}}},
		{"a Kubernetes default", `// +default="TCP"`, &marker.Marker{Name: "default", Offset: 3, Args: marker.Args{"": "TCP"}}},
		{"a marker of another tool that is ignored", "// +kubebuilder:scaffold:imports", &marker.Marker{Name: "kubebuilder:scaffold", Offset: 3, Args: marker.Args{}}},
		{
			"what a program may do",
			"// +kubebuilder:rbac:groups=apps;\"\",resources={deployments,pods},verbs=get;list",
			&marker.Marker{Name: "kubebuilder:rbac", Offset: 3, Args: marker.Args{
				"groups": []string{"apps", ""}, "resources": []string{"deployments", "pods"}, "verbs": []string{"get", "list"},
			}},
		},
		{
			"a group without a name",
			"// +kubebuilder:rbac:groups=,resources=pods,verbs=get",
			&marker.Marker{Name: "kubebuilder:rbac", Offset: 3, Args: marker.Args{
				"groups": []string{""}, "resources": []string{"pods"}, "verbs": []string{"get"},
			}},
		},
		{
			"a patch in backquotes",
			"// +kubebuilder:webhook:path=/a,mutating=false,failurePolicy=fail,groups=a,resources=b,verbs=create,versions=v1,name=a.b.c,admissionReviewVersions=v1,patch=`{\"timeoutSeconds\":5}`",
			&marker.Marker{Name: "kubebuilder:webhook", Offset: 3, Args: marker.Args{
				"path": "/a", "mutating": false, "failurePolicy": "fail", "groups": []string{"a"}, "resources": []string{"b"},
				"verbs": []string{"create"}, "versions": []string{"v1"}, "name": "a.b.c", "admissionReviewVersions": []string{"v1"},
				"patch": `{"timeoutSeconds":5}`,
			}},
		},
		{"declared validation with a note", "// +k8s:maxLength=5 # for now", &marker.Marker{Name: "k8s:maxLength", Offset: 3, Args: marker.Args{"": n("5")}}},
		{"a number sign that is not a comment", `// +k8s:neq="#1"`, &marker.Marker{Name: "k8s:neq", Offset: 3, Args: marker.Args{"": "#1"}}},
		{
			"a member of a union",
			`// +k8s:unionMember(union: "source", memberName: "Git")`,
			&marker.Marker{Name: "k8s:unionMember", Offset: 3, Args: marker.Args{"union": "source", "memberName": "Git"}},
		},
		{"a member of the only union", "// +k8s:unionMember", &marker.Marker{Name: "k8s:unionMember", Offset: 3, Args: marker.Args{}}},
		{
			"a marker for a part of the value",
			"// +k8s:subfield(name)=+k8s:eachVal=+k8s:maxLength=5",
			&marker.Marker{
				Name: "k8s:subfield", Offset: 3, Args: marker.Args{"field": "name", "": "k8s:eachVal"},
				Applies: &marker.Marker{
					Name: "k8s:eachVal", Offset: 20, Args: marker.Args{"": "k8s:maxLength"},
					Applies: &marker.Marker{Name: "k8s:maxLength", Offset: 13, Args: marker.Args{"": n("5")}},
				},
			},
		},
		{"a marker that a CRD can't express", `// +k8s:ifEnabled("Feature")=+k8s:optional`, &marker.Marker{Name: "k8s:ifEnabled", Offset: 3, Args: marker.Args{}}},
		{"a carriage return at the end", "// +optional\r", &marker.Marker{Name: "optional", Offset: 3, Args: marker.Args{"": true}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := marker.NewSet().Parse(tt.in)
			if err != nil {
				t.Fatalf("Parse(%q): %v", tt.in, err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Parse(%q) (-want +got):\n%s", tt.in, diff)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   string
		at   string // the text that the error points to begins like this
		want string
	}{
		{"a space before a kube: marker", "// kube:resource group=a", "kube:", "write //kube:resource without a space after the slashes"},
		{
			"a space before a misspelled kube: marker", "// kube:resorce group=a", "kube:",
			"write //kube:resource without a space after the slashes",
		},
		{
			"a kube: marker in a block comment", "/* kube:resource group=a */", "kube:",
			"kube:resource: markers are read from line comments only; use //",
		},
		{"a plus before a kube: marker", "// +kube:resource", "+kube", "kube: markers have no plus: write //kube:resource"},
		{"an unknown kube: marker", "//kube:resorce group=a", "kube:", "unknown marker //kube:resorce; did you mean //kube:resource?"},
		{"a colon before the arguments of a kube: marker", "//kube:subresource:status", ":status", "write a space between //kube:subresource and its arguments"},
		{"an equals sign before the arguments of a kube: marker", "//kube:subresource=status", "=status", "write a space between //kube:subresource and its arguments"},
		{"a capital letter", "//Kube:resource group=a", "Kube", "unknown marker //Kube:resource; did you mean //kube:resource?"},
		{"only the namespace", "//kube: resource group=a", "kube:", "unknown marker //kube:"},
		{"values that are separated by commas", "// +kubebuilder:rbac:groups=apps,resources=pods,verbs=get,list", "list", `unexpected "list": separate the values of verbs by semicolons`},
		{"a marker as the first versions had it", "// +rbac:groups=apps", "+rbac", "unknown marker +rbac:groups; did you mean +kubebuilder:rbac:groups?"},
		{"a kube: marker without a similar one", "//kube:xyzzy", "kube:", "unknown marker //kube:xyzzy"},
		{"an unknown argument", "//kube:resource group=a shortname=b", "shortname", `//kube:resource has no argument "shortname"; did you mean "shortName"?`},
		{
			"an unknown argument that resembles none", "//kube:selectablefield xyzzy=b", "xyzzy",
			`//kube:selectablefield has no argument "xyzzy"; its arguments are jsonPath`,
		},
		{"an argument twice", "//kube:resource group=a group=b", "group=b", "group is set twice"},
		{"an argument without a value", "//kube:resource group", "group", "group needs a value: write group=…"},
		{"a missing argument", "//kube:resource group=a version=v1", "kube:", "//kube:resource needs kind=…"},
		{"an empty argument", "//kube:resource group= version=v1 kind=A", " version", "the value is empty"},
		{"an empty item", "//kube:resource group=a version=v1 kind=A shortName=a,,b", "a,,b", "shortName has an empty item"},
		{
			"a word that is not one of those allowed", "//kube:resource group=a version=v1 kind=A scope=cluster", "cluster",
			`"cluster" is not one of Namespaced, Cluster; did you mean "Cluster"?`,
		},
		{"an invalid boolean", "//kube:resource group=a version=v1 kind=A storage=yes", "yes", `"yes" is not true or false`},
		{"missing free text", "//kube:description", "kube:", "//kube:description needs a value: a value"},
		{"a missing closing quote", `//kube:printcolumn name="a`, `"a`, "the closing quote is missing, or the string has an invalid escape sequence"},
		{"single quotes", `// +kubebuilder:default='a'`, `'a'`, "quote with \" or `, not with '"},

		{
			"a misspelling", "// +kubebuilder:validation:MaxLenght=5", "+kube",
			"unknown marker +kubebuilder:validation:MaxLenght; did you mean +kubebuilder:validation:MaxLength?",
		},
		{
			"wrong case", "// +kubebuilder:validation:maxlength=5", "+kube",
			"unknown marker +kubebuilder:validation:maxlength; did you mean +kubebuilder:validation:MaxLength?",
		},
		{
			"a missing part", "// +kubebuilder:MaxLength=5", "+kube",
			"unknown marker +kubebuilder:MaxLength; did you mean +kubebuilder:validation:MaxLength?",
		},
		{
			"a misspelled namespace", "// +kubebulder:validation:MaxLength=5", "+kube",
			"unknown marker +kubebulder:validation:MaxLength; did you mean +kubebuilder:validation:MaxLength?",
		},
		{
			"a misspelling before arguments", "// +kubebuilder:printcolum:name=a,type=string", "+kube",
			"unknown marker +kubebuilder:printcolum:name; did you mean +kubebuilder:printcolumn?",
		},
		{"a space after the plus", "// + kubebuilder:object:root=true", "+ kube", "write +kubebuilder:object:root: the plus precedes the name directly"},
		{"a space after the plus of a flag", "// + optional", "+ opt", "write +optional: the plus precedes the name directly"},
		{"a space after the plus of a value", "//+ listType=set", "+ list", "write +listType: the plus precedes the name directly"},
		{"a tab after the plus", "// +\tnullable", "+\tnull", "write +nullable: the plus precedes the name directly"},
		{"a space before a default", "// + default=3", "+ default", "write +default: the plus precedes the name directly"},
		{"a space before a default of kubebuilder", "// +  kubebuilder:default=3", "+  kube", "write +kubebuilder:default: the plus precedes the name directly"},
		{"a space before one of Kubernetes", "// + k8s:subfield(name)=+k8s:optional", "+ k8s", "write +k8s:subfield: the plus precedes the name directly"},
		{"a space before a misspelling", "// + kubebuilder:validation:MaxLenght=3", "+ kube", "unknown marker +kubebuilder:validation:MaxLenght; did you mean +kubebuilder:validation:MaxLength?"},
		{"no plus", "// kubebuilder:validation:Pattern=a", "kube", "write +kubebuilder:validation:Pattern: the plus precedes the name directly"},
		{"an at sign for the plus", "//@kubebuilder:printcolumn:name=a", "@kube", "write +kubebuilder:printcolumn: the plus precedes the name directly"},
		{"a dot for the colon", "// +kubebuilder.object:root=true", "+kube", "unknown marker +kubebuilder.object:root; did you mean +kubebuilder:object:root?"},
		{"the second part alone", "// +validation:Maximum=3", "+val", "unknown marker +validation:Maximum; did you mean +kubebuilder:validation:Maximum?"},
		{"the last part alone", "// +Maximum=3", "+Max", "unknown marker +Maximum; did you mean +kubebuilder:validation:Maximum?"},
		{"the beginning of one", "// +kubebuilder:validation:Min=3", "+kube", "unknown marker +kubebuilder:validation:Min; did you mean +kubebuilder:validation:Minimum?"},
		{"a marker of items", "// +kubebuilder:validation:items:MaxLen=3", "+kube", "unknown marker +kubebuilder:validation:items:MaxLen; did you mean +kubebuilder:validation:items:MaxLength?"},
		{"one that has no namespace", "// +kubebuilder:listType=set", "+kube", "unknown marker +kubebuilder:listType; did you mean +listType?"},
		{"one of Kubernetes in the other namespace", "// +kubebuilder:immutable", "+kube", "unknown marker +kubebuilder:immutable; did you mean +k8s:immutable?"},
		{"one of the other namespace among those of Kubernetes", "// +k8s:validation:MultipleOf=3", "+k8s", "unknown marker +k8s:validation:MultipleOf; did you mean +kubebuilder:validation:MultipleOf?"},
		{"one of Kubernetes that is short of letters", "// +k8s:maxLen=3", "+k8s", "unknown marker +k8s:maxLen; did you mean +k8s:maxLength?"},
		{"a marker of Kubernetes without a similar one", "// +k8s:xyzzy=3", "+k8s", "unknown marker +k8s:xyzzy"},
		{"one of the others among ours", "// +kube:default=3", "+kube", "unknown marker +kube:default; did you mean +default?"},
		{"a marker without a similar one", "// +kubebuilder:xyzzy", "+kube", "unknown marker +kubebuilder:xyzzy"},
		{"a misspelled name outside of kubebuilder", "// +optinal", "+opt", "unknown marker +optinal; did you mean +optional?"},
		{"a misspelled name with a value", "// +listtype=map", "+list", "unknown marker +listtype; did you mean +listType?"},
		{"a misspelled name of Kubernetes", "// +k8s:immutabel", "+k8s", "unknown marker +k8s:immutabel; did you mean +k8s:immutable?"},
		{"text after a flag", "// +optional because", " because", `unexpected " because": write +optional alone`},
		{"a flag that is false", "// +nullable=false", "false", "+nullable can't be false: remove it instead"},
		{"a flag with another value", "// +nullable=maybe", "maybe", `"maybe" is not true or false`},
		{"no value", "// +kubebuilder:validation:MaxLength", "+kube", "+kubebuilder:validation:MaxLength needs a value: a non-negative integer"},
		{"an empty value", "// +kubebuilder:validation:Pattern=", "", "the value is empty"},
		{"a string for a number", "// +kubebuilder:validation:Maximum=ten", "ten", `"ten" is not a number`},
		{"a negative length", "// +kubebuilder:validation:MaxLength=-1", "-1", `"-1" is not a non-negative integer`},
		{
			"an enum with commas", "// +kubebuilder:validation:Enum=a,b", ",b",
			`unexpected ",b": separate the values by semicolons`,
		},
		{"an enum in brackets", "// +kubebuilder:validation:Enum=[a,b]", "[a", "write the list as a;b or {a,b}, or quote the bracket if it is part of a string"},
		{"an enum in braces with semicolons", "// +kubebuilder:validation:Enum={a;b}", ";b", `expected ',' or '}'`},
		{"verbs in brackets", "// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=[get,list]", "[get", "write the list as a;b or {a,b}, or quote the bracket if it is part of a string"},
		{"text after a value that is quoted", `// +kubebuilder:validation:Pattern="a" b`, "b", `unexpected "b": quote the value if this is part of it`},
		{"an enum with an empty value", "// +kubebuilder:validation:Enum=a;;b", ";b", `the value is missing: write "" for an empty string`},
		{"a missing closing brace", "// +kubebuilder:default={a: 1", "{a", "the closing brace is missing"},
		{"an unclosed list", "// +kubebuilder:default={1, 2", "", `expected ',' or '}'`},
		{"a default that is not JSON", "// +default=TCP", "TCP", `the value must be JSON, such as "text" or 3 or [1,2]: invalid character 'T' looking for beginning of value`},
		{"a default that is a reference", "// +default=ref(x)", "ref", "references are not resolved: write the value itself"},
		{"a value for a marker that has arguments", "// +kubebuilder:resource=x", "x", "+kubebuilder:resource has no value; its arguments are path, shortName, categories, singular, scope"},
		{"arguments for a marker that has a value", "// +kubebuilder:validation:MaxLength:max=3", ":max", `unexpected ":max=3": write +kubebuilder:validation:MaxLength=…`},
		{"a colon for the equals sign", "// +kubebuilder:validation:Minimum:3", ":3", `unexpected ":3": write +kubebuilder:validation:Minimum=…`},
		{"a space for the equals sign", "// +kubebuilder:validation:Minimum 3", " 3", `unexpected " 3": write +kubebuilder:validation:Minimum=…`},
		{"a space for the colon", "// +kubebuilder:resource path=a", " path", `unexpected " path=a": write +kubebuilder:resource:path=…`},
		{"a value in parentheses", "// +k8s:maxLength(3)", "(3)", `unexpected "(3)": write +k8s:maxLength=…`},
		{"a default without a value", "// +kubebuilder:default", "+kube", "+kubebuilder:default needs a value: write +kubebuilder:default=…"},
		{"an argument without a name", "// +kubebuilder:resource:=x", "x", "+kubebuilder:resource has no value; its arguments are path, shortName, categories, singular, scope"},
		{"arguments separated by spaces", `// +kubebuilder:resource:path="a" scope=Cluster`, "scope", `unexpected "scope=Cluster": arguments are separated by commas`},
		{"an object in a list of strings", "// +kubebuilder:resource:shortName={{a: b}}", "{{", "item 1 of the list is not a string"},
		{"a bare word where a marker belongs", "// +k8s:eachVal=5", "5", "+k8s:eachVal applies another marker: write +k8s:eachVal=+k8s:…"},
		{"an unknown marker in another", "// +k8s:eachVal=+k8s:maxLenth=5", "+k8s:maxLenth", "unknown marker +k8s:maxLenth; did you mean +k8s:maxLength?"},
		{"another generator's marker in one", "// +k8s:eachVal=+k8s:openapi-gen=true", "+k8s:openapi", "unknown marker +k8s:openapi-gen=true"},
		{"an argument without a name where there are several", "// +k8s:unionMember(x)", "x", "+k8s:unionMember needs the names of its arguments: union, memberName"},
		{"a missing closing parenthesis", "// +k8s:unionMember(union: x", "", "expected a comma or a closing parenthesis"},
		{"a missing field", "// +k8s:subfield=+k8s:optional", "+k8s", "+k8s:subfield needs field=…"},
		{"a value for a marker without one", "// +k8s:unionMember=5", "5", "+k8s:unionMember has no value"},
		{"a marker in a block comment", "/*\n\t+kubebuilder:validation:MaxLength=3\n*/", "+kube", "+kubebuilder:validation:MaxLength=3: markers are read from line comments only; use //"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := marker.NewSet().Parse(tt.in)
			e, ok := errors.AsType[*marker.SyntaxError](err)
			if !ok {
				t.Fatalf("Parse(%q) = %v, want a SyntaxError", tt.in, err)
			}
			if e.Msg != tt.want {
				t.Errorf("Parse(%q):\n got %s\nwant %s", tt.in, e.Msg, tt.want)
			}
			if rest := tt.in[e.Offset:]; !strings.HasPrefix(rest, tt.at) || tt.at == "" && rest != "" {
				t.Errorf("Parse(%q) points to %q, want %q", tt.in, rest, tt.at)
			}
		})
	}
}

func TestMarkersOfOtherGeneratorsAreLeftAlone(t *testing.T) {
	for _, in := range []string{
		"// +genclient", "// +genclient:nonNamespaced", "// +genclient:method=GetScale,verb=get", "// +groupGoName=Gateway", // client-gen
		"// +k8s:defaulter-gen=TypeMeta", "// +k8s:conversion-gen=k8s.io/api/core/v1", "// +k8s:conversion-gen:explicit-from=net/url.Values",
		"// +k8s:openapi-gen=true", "// +k8s:register-gen=package", "// +k8s:protobuf-gen=package", "// +k8s:validation-gen=TypeMeta",
		"// +k8s:prerelease-lifecycle-gen:introduced=1.9", "// +k8s:openapi-model-package=io.k8s.api.core.v1",
		"// +protobuf=true", "// +protobuf.options.(gogoproto.goproto_stringer)=false", "// +protobuf.nullable=true",
		"// +patchStrategy=merge", "// +patchMergeKey=name", "// +union", "// +unionDiscriminator", "// +enum", "// +featureGate=X",
		"// +crossplane:generate:reference:type=Role", "// +crossbuilder:generate:methods", "// +upjet:crd:field:TFTag=-",
		"// +operator-sdk:csv:customresourcedefinitions:type=spec", "// +openshift:compatibility-gen:level=1", "// +deepequal-gen=true",
		"// +genduck", "// +genreconciler", "// +gencrdrefdocs:force", "// +notImplementedHide", "// +build linux", "// +domain=example.com",
		"// + a sentence in a list", "// + optional fields come first", "// + default: what is used otherwise", "// + 3 is more", "// +",
	} {
		if m, err := marker.NewSet().Parse(in); m != nil || err != nil {
			t.Errorf("Parse(%q) = %v, %v; want nothing", in, m, err)
		}
	}
}

func TestAllowedSaysWhereAMarkerBelongs(t *testing.T) {
	for _, tt := range []struct {
		in   string
		on   marker.Target
		want string
	}{
		{"// +optional", marker.Field, ""},
		{"// +optional", marker.Type, "+optional belongs on a field, not on a type"},
		{"//kube:subresource status", marker.Field, "//kube:subresource belongs on a type, not on a field"},
		{"// +groupName=a.example.com", marker.Type, "+groupName belongs on a package, not on a type: move it above the package clause, or set the group of kube:resource"},
		{"// +kubebuilder:validation:items:MaxLength=3", marker.Package, "+kubebuilder:validation:items:MaxLength belongs on a type or field, not on a package"},
		{"// +kubebuilder:validation:MaxLength=3", marker.Type, ""},
		{"// +kubebuilder:object:generate=true", marker.Package, ""},
	} {
		set := marker.NewSet()
		m, err := set.Parse(tt.in)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := set.Allowed(m, tt.on); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("Allowed(%q, %v) = %q, want %q", tt.in, tt.on, got, tt.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`//kube:resource group=docs.example.com version=v1 kind=Document shortName=d,doc deprecated="use v2"`,
		`//kube:printcolumn name=Ready jsonPath=.status.conditions[?(@.type == "Is Ready")].status priority=1`,
		"//kube:description text", "// +optional", "// +kubebuilder:validation:items:Minimum=-1.5",
		"// +kubebuilder:validation:Pattern=`^a$`", `// +kubebuilder:validation:Enum=a;"b;c";{x: 3}`,
		`// +kubebuilder:default={name: "x", "port": 3, tags: {a, b}}`, "// +default=[1]",
		"// +kubebuilder:printcolumn:name=\"Ready\",type=string,JSONPath=`.a[?(@.b==\"c,d\")]`",
		"/* +kubebuilder:validation:MaxLength=3 */", "// +listType=map", "// +kubebuilder:", "// +",
		`// +k8s:subfield(name)=+k8s:eachVal=+k8s:neq="x" # note`, `// +k8s:unionMember(union: "a", memberName: b)`,
		"// + optional", "//+ listType=set", "// +\tnullable", "// +  default={\"a\": 1}", "// + kubebuilder:default={a, b}", "// + k8s:subfield(a)=+k8s:optional",
		"//  +listMapKey = name", "// + +optional", "// +kubebuilder: validation:Enum=a; b", "// + default: prose", "//\t+ optional",
		"// +kubebuilder:rbac:groups=core;apps,resources={a,b/status},verbs=*", "//kube:output rbac=config/rbac docs=none",
	} {
		f.Add(seed)
	}
	set := marker.NewSet()
	f.Fuzz(func(t *testing.T, in string) {
		m, err := set.Parse(in)
		if err != nil {
			e, ok := errors.AsType[*marker.SyntaxError](err)
			if !ok || m != nil {
				t.Fatalf("Parse(%q) = %v, %v; want a SyntaxError alone", in, m, err)
			}
			if e.Offset < 0 || e.Offset > len(in) || e.Msg == "" {
				t.Fatalf("Parse(%q): offset %d, message %q", in, e.Offset, e.Msg)
			}
			return
		}
		if m == nil {
			return
		}
		if m.Offset < 2 || m.Offset >= len(in) {
			t.Fatalf("Parse(%q): offset %d", in, m.Offset)
		}
		if set.On(m) == 0 || set.Spelling(m) == "" {
			t.Fatalf("Parse(%q) = %v, which is not defined", in, m)
		}
		if _, err := json.Marshal(m.Args); err != nil {
			t.Fatalf("Parse(%q): arguments can't be JSON: %v", in, err)
		}
	})
}
