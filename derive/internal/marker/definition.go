// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package marker

import (
	"slices"
	"strings"
)

// valueKind is the kind of a value after the equals sign.
type valueKind uint8

const (
	kindFlag    valueKind = iota // no value, or true or false
	kindBool                     // true or false
	kindSize                     // a non-negative integer
	kindNumber                   // any number
	kindString                   // a string, quoted or not
	kindStrings                  // a list of strings
	kindValues                   // a list of any values
	kindAny                      // any value in the marker notation
	kindJSON                     // any value in JSON
	kindMarker                   // another marker
	kindRaw                      // the rest of the line, which is not parsed
)

// String describes a value of the kind.
func (k valueKind) String() string {
	switch k {
	case kindFlag:
		return "no value"
	case kindBool:
		return "true or false"
	case kindSize:
		return "a non-negative integer"
	case kindNumber:
		return "a number"
	case kindString:
		return "a string"
	case kindStrings:
		return "a list of strings"
	case kindValues:
		return "a list of values"
	case kindJSON:
		return "JSON"
	case kindMarker:
		return "another marker"
	case kindAny, kindRaw:
	}
	return "a value"
}

// param is an argument of a marker. The one without a name is the value of the marker.
type param struct {
	name     string
	kind     valueKind
	required bool
	oneOf    []string // the valid strings, or empty if all are valid
	repeat   bool     // may occur several times, which makes a list
	bare     bool     // may have no value

	empty      bool // an empty value is a list of one empty string
	positional bool // has no name in parentheses
}

// definition is the definition of a marker.
type definition struct {
	name   string
	on     Target
	params []param
	repeat bool   // may occur several times on a target
	items  bool   // may have the items: prefix
	hint   string // the remedy on other targets
	our    bool   // has the form //kube:…
	loose  bool   // applies to the package from any position

	declarative bool   // its arguments are in parentheses
	unsupported string // the reason why a CRD can't express it, or empty
}

const (
	validation  = "kubebuilder:validation:"
	itemsPrefix = "items:"
)

func (d *definition) spelling(items bool) string {
	switch {
	case d.our:
		return "//" + d.name
	case items:
		return "+" + validation + itemsPrefix + strings.TrimPrefix(d.name, validation)
	}
	return "+" + d.name
}

// usage returns how to write the marker.
func (d *definition) usage() string {
	own := d.param("")
	switch names := d.paramNames(); {
	case own != nil && own.kind == kindFlag:
		return "write " + d.spelling(false) + " alone"
	case own != nil:
		return "write " + d.spelling(false) + "=…"
	case d.declarative:
		return "write " + d.spelling(false) + "(" + names[0] + ": …)"
	default:
		return "write " + d.spelling(false) + ":" + names[0] + "=…"
	}
}

func (d *definition) param(name string) *param {
	for i := range d.params {
		if d.params[i].name == name {
			return &d.params[i]
		}
	}
	return nil
}

func (d *definition) paramNames() []string {
	var names []string
	for _, p := range d.params {
		if p.name != "" {
			names = append(names, p.name)
		}
	}
	return names
}

// Set is a set of marker definitions. It is immutable and safe for concurrent use.
type Set struct {
	byName map[string]*definition
	names  []string // sorted
}

// NewSet returns the markers of kube-derive.
func NewSet() *Set {
	s := &Set{byName: map[string]*definition{}}
	for _, defs := range [][]definition{
		kindMarkers(), outputMarkers(), rootMarkers(), copyMarkers(), validationMarkers(), fieldMarkers(), declarativeMarkers(),
		serverMarkers(), foreignMarkers(),
	} {
		for _, d := range defs {
			s.byName[d.name] = &d
			s.names = append(s.names, d.name)
		}
	}
	slices.Sort(s.names)
	return s
}

// value returns a marker with a value and without arguments.
func value(name string, on Target, kind valueKind, oneOf ...string) definition {
	return definition{name: name, on: on, params: []param{{kind: kind, required: kind != kindFlag, oneOf: oneOf}}}
}

// kindMarkers are the //kube: markers that define a kind with a spec struct.
func kindMarkers() []definition {
	path := param{name: "jsonPath", kind: kindString, required: true}
	defs := []definition{
		{name: "kube:resource", params: []param{
			{name: "group", kind: kindString, required: true},
			{name: "version", kind: kindString, required: true},
			{name: "kind", kind: kindString, required: true},
			{name: "plural", kind: kindString},
			{name: "singular", kind: kindString},
			{name: "shortName", kind: kindStrings, repeat: true},
			{name: "categories", kind: kindStrings, repeat: true},
			{name: "scope", kind: kindString, oneOf: []string{"Namespaced", "Cluster"}},
			{name: "storage", kind: kindBool},
			{name: "served", kind: kindBool},
			{name: "deprecated", kind: kindString, bare: true},
		}},
		{name: "kube:description", repeat: true, params: []param{{kind: kindRaw, required: true}}},
		{name: "kube:subresource", repeat: true, params: []param{
			{name: "status", kind: kindString, bare: true},
			{name: "scale", kind: kindFlag, bare: true},
			{name: "specReplicas", kind: kindString},
			{name: "statusReplicas", kind: kindString},
			{name: "labelSelector", kind: kindString},
		}},
		{name: "kube:printcolumn", repeat: true, params: []param{
			{name: "name", kind: kindString, required: true},
			path,
			{name: "type", kind: kindString, oneOf: columnTypes()},
			{name: "description", kind: kindString},
			{name: "format", kind: kindString},
			{name: "priority", kind: kindSize},
		}},
		{name: "kube:selectablefield", repeat: true, params: []param{path}},
		{name: "kube:metadata", repeat: true, params: []param{
			{name: "annotation", kind: kindString, repeat: true},
			{name: "label", kind: kindString, repeat: true},
		}},
		{name: "kube:validation", repeat: true, params: ruleParams()},
	}
	for i := range defs {
		defs[i].our = true
		defs[i].on = Type
		switch defs[i].name {
		case "kube:description":
			defs[i].hint = "write the description of a field as its comment; //kube:descriptions is for descriptions in large CRDs"
		case "kube:validation":
			defs[i].hint = "write a rule of a field as +" + validation + "XValidation"
		}
	}
	return defs
}

// outputMarkers are the //kube: markers for the generated files.
func outputMarkers() []definition {
	output := definition{name: "kube:output", on: Package, our: true, repeat: true}
	for _, name := range []string{"crds", "rbac", "roleName", "webhooks", "docs", "schemas", "samples"} {
		output.params = append(output.params, param{name: name, kind: kindString})
	}
	return []definition{
		output,
		{name: "kube:descriptions", on: Type | Field, our: true, params: []param{
			{name: "keep", kind: kindFlag, bare: true},
			{name: "drop", kind: kindFlag, bare: true},
		}},
		{name: "kube:conversion", on: Type, our: true, params: []param{
			{name: "strategy", kind: kindString, oneOf: []string{"None", "Webhook"}},
			{name: "service", kind: kindString},
			{name: "path", kind: kindString},
			{name: "port", kind: kindSize},
			{name: "url", kind: kindString},
			{name: "versions", kind: kindStrings},
		}},
		{name: "kube:diagram", on: Type, our: true, repeat: true, params: []param{
			{name: "file", kind: kindString, required: true},
			{name: "title", kind: kindString},
		}},
	}
}

func columnTypes() []string { return []string{"string", "integer", "number", "boolean", "date"} }

// ruleParams returns the arguments of a CEL rule.
func ruleParams() []param {
	return []param{
		{name: "rule", kind: kindString, required: true},
		{name: "message", kind: kindString},
		{name: "messageExpression", kind: kindString},
		{name: "reason", kind: kindString, oneOf: []string{
			"FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate",
		}},
		{name: "fieldPath", kind: kindString},
		{name: "optionalOldSelf", kind: kindBool},
	}
}

// rootMarkers are the markers of complete types of kinds, and of their packages.
func rootMarkers() []definition {
	path := param{name: "JSONPath", kind: kindString, required: true}
	docs := []param{{name: "url", kind: kindString, required: true}, {name: "description", kind: kindString}}
	defs := []definition{
		{name: "kubebuilder:resource", on: Type, params: []param{
			{name: "path", kind: kindString},
			{name: "shortName", kind: kindStrings},
			{name: "categories", kind: kindStrings},
			{name: "singular", kind: kindString},
			{name: "scope", kind: kindString, oneOf: []string{"Namespaced", "Cluster"}},
		}},
		value("kubebuilder:subresource:status", Type, kindFlag),
		{name: "kubebuilder:subresource:scale", on: Type, params: []param{
			{name: "specpath", kind: kindString, required: true},
			{name: "statuspath", kind: kindString, required: true},
			{name: "selectorpath", kind: kindString},
		}},
		{name: "kubebuilder:printcolumn", on: Type, repeat: true, params: []param{
			{name: "name", kind: kindString, required: true},
			{name: "type", kind: kindString, required: true, oneOf: columnTypes()},
			path,
			{name: "description", kind: kindString},
			{name: "format", kind: kindString},
			{name: "priority", kind: kindSize},
		}},
		{name: "kubebuilder:selectablefield", on: Type, repeat: true, params: []param{path}},
		{name: "kubebuilder:metadata", on: Type, repeat: true, params: []param{
			{name: "annotations", kind: kindStrings, repeat: true},
			{name: "labels", kind: kindStrings, repeat: true},
		}},
		value("kubebuilder:storageversion", Type, kindFlag),
		value("kubebuilder:unservedversion", Type, kindFlag),
		value("kubebuilder:skipversion", Type, kindFlag),
		{name: "kubebuilder:deprecatedversion", on: Type, params: []param{{name: "warning", kind: kindString}}},
		value("kubebuilder:ac:generate", Type|Package, kindBool),
		value("kubebuilder:ac:output:package", Package, kindString),
		{name: "kubebuilder:externalDocs", on: Type | Field, params: docs},
		value("kubebuilder:skip", Package, kindFlag),
		value("groupName", Package, kindString),
		value("versionName", Package, kindString),
	}
	for i := range defs {
		switch defs[i].name {
		case "groupName":
			defs[i].hint = "move it above the package clause, or set the group of kube:resource"
		case "kubebuilder:skip":
			defs[i].hint = `to omit a field, tag it json:"-"`
		}
	}
	return defs
}

// validationMarkers restrict the values of a type or a field. Each of them has an items: form.
func validationMarkers() []definition {
	on := Type | Field
	defs := []definition{
		value(validation+"Maximum", on, kindNumber),
		value(validation+"Minimum", on, kindNumber),
		value(validation+"ExclusiveMaximum", on, kindBool),
		value(validation+"ExclusiveMinimum", on, kindBool),
		value(validation+"MultipleOf", on, kindNumber),
		value(validation+"MaxLength", on, kindSize),
		value(validation+"MinLength", on, kindSize),
		value(validation+"Pattern", on, kindString),
		value(validation+"MaxItems", on, kindSize),
		value(validation+"MinItems", on, kindSize),
		value(validation+"UniqueItems", on, kindBool),
		value(validation+"MaxProperties", on, kindSize),
		value(validation+"MinProperties", on, kindSize),
		value(validation+"Enum", on, kindValues),
		value(validation+"Format", on, kindString),
		value(validation+"Type", on, kindString, "string", "integer", "number", "boolean", "array", "object", "Any"),
		value(validation+"XPreserveUnknownFields", on, kindFlag),
		value(validation+"XEmbeddedResource", on, kindFlag),
		value(validation+"XIntOrString", on, kindFlag),
		{name: validation + "XValidation", on: on, repeat: true, params: ruleParams()},
	}
	for i := range defs {
		defs[i].items = true
	}
	return defs
}

// fieldMarkers stand on fields and types, and have no items: form.
func fieldMarkers() []definition {
	defs := []definition{
		value("kubebuilder:pruning:PreserveUnknownFields", Type|Field, kindFlag),
		value(validation+"EmbeddedResource", Field, kindFlag),
		value(validation+"Schemaless", Field, kindFlag),
		value(validation+"Optional", Field|Package, kindFlag),
		value(validation+"Required", Field|Package, kindFlag),
		value("optional", Field, kindFlag),
		value("required", Field, kindFlag),
		value("nullable", Field, kindFlag),
		value("kubebuilder:default", Field, kindAny),
		value("default", Field, kindJSON),
		value("kubebuilder:example", Field, kindAny),
		value("kubebuilder:title", Type|Field, kindString),
		value("mapType", Type|Field, kindString, "granular", "atomic"),
		value("structType", Type|Field, kindString, "granular", "atomic"),
	}
	key := value("listMapKey", Type|Field, kindString)
	key.repeat = true
	defs = append(defs, key, value("listType", Type|Field, kindString, "atomic", "set", "map"))
	for _, name := range []string{"AtMostOneOf", "ExactlyOneOf", "AtLeastOneOf"} {
		d := value(validation+name, Type, kindStrings)
		d.repeat = true
		defs = append(defs, d)
	}
	return defs
}

// copyMarkers say which types are given deep copies.
func copyMarkers() []definition {
	interfaces := value("k8s:deepcopy-gen:interfaces", Type, kindStrings)
	interfaces.repeat = true
	return []definition{
		value("kubebuilder:object:root", Type, kindBool),
		value("kubebuilder:object:generate", Type|Package, kindBool),
		{name: "k8s:deepcopy-gen", on: Type | Package, params: []param{{kind: kindString, required: true}, {name: "nonpointer-interfaces", kind: kindBool}}},
		interfaces,
	}
}

// serverMarkers say what a program needs of the server it talks to: they stand near the code that needs it, and are
// about the package as a whole.
func serverMarkers() []definition {
	defs := []definition{
		{name: "kubebuilder:rbac", params: []param{
			{name: "groups", kind: kindStrings, empty: true},
			{name: "resources", kind: kindStrings},
			{name: "resourceNames", kind: kindStrings},
			{name: "verbs", kind: kindStrings, required: true},
			{name: "urls", kind: kindStrings},
			{name: "namespace", kind: kindString},
			{name: "roleName", kind: kindString},
		}},
		{name: "kubebuilder:webhook", params: []param{
			{name: "mutating", kind: kindBool, required: true},
			{name: "failurePolicy", kind: kindString, required: true},
			{name: "matchPolicy", kind: kindString},
			{name: "sideEffects", kind: kindString},
			{name: "timeoutSeconds", kind: kindSize},
			{name: "groups", kind: kindStrings, required: true, empty: true},
			{name: "resources", kind: kindStrings, required: true},
			{name: "verbs", kind: kindStrings, required: true},
			{name: "versions", kind: kindStrings, required: true},
			{name: "name", kind: kindString, required: true},
			{name: "serviceName", kind: kindString},
			{name: "serviceNamespace", kind: kindString},
			{name: "path", kind: kindString},
			{name: "servicePort", kind: kindSize},
			{name: "webhookVersions", kind: kindStrings},
			{name: "admissionReviewVersions", kind: kindStrings, required: true},
			{name: "reinvocationPolicy", kind: kindString},
			{name: "url", kind: kindString},
			{name: "patch", kind: kindString},
		}},
		{name: "kubebuilder:webhookconfiguration", params: []param{
			{name: "mutating", kind: kindBool, required: true},
			{name: "name", kind: kindString},
		}},
	}
	for i := range defs {
		defs[i].on, defs[i].repeat, defs[i].loose = Package|Type|Field, true, true
	}
	return defs
}

// foreignMarkers are ignored: they are for other generators.
func foreignMarkers() []definition {
	var defs []definition
	for _, name := range []string{"kubebuilder:scaffold", "kubebuilder:docs-gen"} {
		defs = append(defs, definition{
			name: name, on: Package | Type | Field, repeat: true, loose: true, params: []param{{kind: kindRaw}},
		})
	}
	return defs
}
