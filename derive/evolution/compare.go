// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package evolution

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/core"
)

// Compare returns the changes between two CustomResourceDefinitions of the same name, sorted by version and path. It
// supports apiextensions.k8s.io/v1 only. It does not modify the definitions.
func Compare(before, after *unstructured.Unstructured) ([]Change, error) {
	b, err := read(before)
	if err != nil {
		return nil, fmt.Errorf("old definition: %w", err)
	}
	a, err := read(after)
	if err != nil {
		return nil, fmt.Errorf("new definition: %w", err)
	}
	if b.Metadata.Name != a.Metadata.Name {
		return nil, fmt.Errorf("%s and %s are definitions of different kinds: compare definitions of the same name", b.Metadata.Name, a.Metadata.Name)
	}
	d := &comparison{definition: b.Metadata.Name}
	d.compare(b, a)
	sortChanges(d.changes)
	return d.changes, nil
}

// CompareAll compares the definitions of a release with the definitions of the next release, by name. A removed
// definition is a breaking change.
func CompareAll(before, after []*unstructured.Unstructured) ([]Change, error) {
	olds, err := byName(before)
	if err != nil {
		return nil, fmt.Errorf("old definitions: %w", err)
	}
	news, err := byName(after)
	if err != nil {
		return nil, fmt.Errorf("new definitions: %w", err)
	}
	var all []Change
	for name, b := range olds {
		a := news[name]
		if a == nil {
			all = append(all, Change{
				Severity: Breaking, Definition: name, Rule: "definition", Old: text(b.GetName()),
				Why: "if the definition is deleted, the server deletes all objects of the kind",
			})
			continue
		}
		changes, err := Compare(b, a)
		if err != nil {
			return nil, err
		}
		all = append(all, changes...)
	}
	for name := range news {
		if olds[name] == nil {
			all = append(all, Change{Severity: Compatible, Definition: name, Rule: "definition", New: text(name), Why: "new kind"})
		}
	}
	sortChanges(all)
	return all, nil
}

func byName(crds []*unstructured.Unstructured) (map[string]*unstructured.Unstructured, error) {
	names := map[string]*unstructured.Unstructured{}
	for i, crd := range crds {
		if _, err := read(crd); err != nil {
			return nil, fmt.Errorf("definition %d of %d: %w", i+1, len(crds), err)
		}
		if names[crd.GetName()] != nil {
			return nil, errors.New(crd.GetName() + " is defined twice: remove one of the definitions")
		}
		names[crd.GetName()] = crd
	}
	return names, nil
}

// comparison collects the changes of one definition.
type comparison struct {
	definition string
	version    string // the current version
	changes    []Change
}

// finding is a change at a given place.
type finding struct {
	severity Severity
	rule     string
	old, new string
	why      string
}

func (d *comparison) add(at place, f finding) {
	d.changes = append(d.changes, Change{
		Severity: f.severity, Definition: d.definition, Version: d.version, Path: string(at),
		Rule: f.rule, Old: f.old, New: f.new, Why: f.why,
	})
}

// differ adds a change of the whole definition if two values differ.
func (d *comparison) differ(severity Severity, rule, before, after, why string) {
	if before != after {
		d.add("", finding{severity, rule, quoted(before), quoted(after), why})
	}
}

// quoted encodes a string as JSON. It returns "" for an empty string.
func quoted(s string) string {
	if s == "" {
		return ""
	}
	return text(s)
}

func (d *comparison) compare(before, after *definition) {
	b, a := &before.Spec, &after.Spec
	const immutable = "the field is immutable: create a definition with another name instead"
	d.differ(Breaking, "group", b.Group, a.Group, immutable)
	d.differ(Breaking, "scope", b.Scope, a.Scope, immutable)
	d.differ(Breaking, "names.plural", b.Names.Plural, a.Names.Plural, immutable)
	d.differ(Breaking, "names.kind", b.Names.Kind, a.Names.Kind, "manifests, stored objects and owner references contain the old kind")
	d.differ(Risky, "names.listKind", b.Names.ListKind, a.Names.ListKind, "clients that check the kind of a list get another kind")
	d.differ(Risky, "names.singular", b.Names.Singular, a.Names.Singular, "commands with the old name fail")
	d.names("names.shortNames", b.Names.ShortNames, a.Names.ShortNames, "commands with the name fail")
	d.names("names.categories", b.Names.Categories, a.Names.Categories, "commands that list the category do not list the kind")
	if b.Preserve && !a.Preserve {
		d.add("", finding{Breaking, "preserveUnknownFields", "true", "", lostOnWrite})
	}
	d.conversion(before, after)
	d.versions(before, after)
}

// names compares lists of names. A removed name is risky, an added name is compatible.
func (d *comparison) names(rule string, before, after []string, why string) {
	removed, added := split(before, after)
	for _, name := range removed {
		d.add("", finding{Risky, rule, text(name), "", why})
	}
	for _, name := range added {
		d.add("", finding{Compatible, rule, "", text(name), "additional name"})
	}
}

// split returns the names that are only in before, and the names that are only in after.
func split(before, after []string) (removed, added []string) {
	for _, name := range before {
		if !slices.Contains(after, name) {
			removed = append(removed, name)
		}
	}
	for _, name := range after {
		if !slices.Contains(before, name) {
			added = append(added, name)
		}
	}
	return removed, added
}

func (d *comparison) conversion(before, after *definition) {
	switch {
	case before.converts() && !after.converts() && len(after.Spec.Versions) > 1:
		d.add("", finding{
			Breaking, "conversion", `"Webhook"`, `"None"`,
			"stored objects are served in the other versions without conversion, and fields that are not in their schemas are dropped",
		})
	case before.converts() && !after.converts():
		d.add("", finding{Compatible, "conversion", `"Webhook"`, `"None"`, "the only version needs no conversion"})
	case !before.converts() && after.converts():
		d.add("", finding{Risky, "conversion", `"None"`, `"Webhook"`, "objects can't be read or written while the webhook is unavailable"})
	case before.converts():
		d.webhook(&before.Spec.Conversion.Webhook, &after.Spec.Conversion.Webhook)
	}
}

// webhook compares the configurations of the conversion webhook.
func (d *comparison) webhook(before, after *webhook) {
	if !same(before.Client, after.Client) {
		d.add("", finding{
			Risky, "conversion.webhook.clientConfig", text(before.Client), text(after.Client),
			"the new webhook must be available and must convert in the same way, or objects can't be read or written correctly",
		})
	}
	removed, added := split(before.ReviewVersions, after.ReviewVersions)
	for _, name := range removed {
		d.add("", finding{Risky, "conversion.webhook.conversionReviewVersions", text(name), "", "a webhook that supports only this version of ConversionReview fails"})
	}
	for _, name := range added {
		d.add("", finding{Compatible, "conversion.webhook.conversionReviewVersions", "", text(name), "additional name"})
	}
}

func (d *comparison) versions(before, after *definition) {
	for i := range before.Spec.Versions {
		b := &before.Spec.Versions[i]
		if a := after.version(b.Name); a != nil {
			d.version = b.Name
			d.compareVersion(b, a)
			if !b.Served && !b.Storage {
				d.unconverted(before, after, a)
			}
		} else {
			d.dropped(before, after, b)
		}
	}
	for i := range after.Spec.Versions {
		if a := &after.Spec.Versions[i]; before.version(a.Name) == nil {
			d.added(before, after, a)
		}
	}
	d.unstored(before, after)
	d.version = ""
	d.storage(before, after)
}

// dropped reports a removed version.
func (d *comparison) dropped(before, after *definition, v *version) {
	d.version = v.Name
	stored := slices.Contains(before.Status.StoredVersions, v.Name) || slices.Contains(after.Status.StoredVersions, v.Name)
	why := "requests for the version fail with not found"
	switch {
	case stored || v.Storage:
		why = "objects may be stored in the version: the server rejects the definition until they are migrated " +
			"and the version is removed from status.storedVersions; after that, requests for the version fail with not found"
	case !v.Served:
		d.add("", finding{Compatible, "version", text(v.Name), "", "the version was neither served nor stored"})
		return
	}
	d.add("", finding{Breaking, "version", text(v.Name), "", why})
}

// storage compares the storage versions.
func (d *comparison) storage(before, after *definition) {
	b, a := before.storage(), after.storage()
	if b == nil || a == nil || b.Name == a.Name {
		return
	}
	f := finding{
		Risky, "storage", text(b.Name), text(a.Name),
		"existing objects stay in " + b.Name + " until they are written again: keep the version until then",
	}
	switch known := after.Status.StoredVersions; {
	case len(known) > 0 && !slices.Contains(known, b.Name):
		f.severity = Breaking
		f.why = "status.storedVersions does not contain " + b.Name + ", in which objects are stored: they can't be read after that version is removed"
	case core.CompareVersions(b.Name, a.Name) > 0:
		f.why = "the new storage version is older: each write drops the fields that only " + b.Name + " has"
	}
	d.add("", f)
}

// compareVersion compares two definitions of a version: its properties and its schema.
func (d *comparison) compareVersion(b, a *version) {
	switch {
	case b.Served && !a.Served:
		d.add("", finding{Breaking, "served", "true", "false", "requests for the version fail with not found"})
	case !b.Served && a.Served:
		d.add("", finding{Compatible, "served", "false", "true", "clients can request the version"})
	}
	if !b.Deprecated && a.Deprecated {
		d.add("", finding{Compatible, "deprecated", "", "true", "clients of the version get a warning"})
	} else if b.Deprecated && !a.Deprecated {
		d.add("", finding{Compatible, "deprecated", "true", "", "clients of the version get no warning"})
	}
	d.subresources(b, a)
	d.columns(b.Columns, a.Columns)
	for i := range b.Selectable {
		if path := b.Selectable[i].JSONPath; !selects(a, path) {
			d.add(place(path), finding{Breaking, "selectableField", text(path), "", "field selectors with this path are rejected"})
		}
	}
	for i := range a.Selectable {
		if path := a.Selectable[i].JSONPath; !selects(b, path) {
			d.add(place(path), finding{Compatible, "selectableField", "", text(path), "field selectors can use the path"})
		}
	}
	d.schema(b.Schema.OpenAPIV3Schema, a.Schema.OpenAPIV3Schema)
}

func selects(v *version, path string) bool {
	for i := range v.Selectable {
		if strings.TrimPrefix(v.Selectable[i].JSONPath, ".") == strings.TrimPrefix(path, ".") {
			return true
		}
	}
	return false
}

func (d *comparison) subresources(b, a *version) {
	const status, scaleRule = "subresources.status", "subresources.scale"
	switch before, after := b.Subresources.Status != nil, a.Subresources.Status != nil; {
	case before && !after:
		d.add("", finding{Breaking, status, "{}", "", "updates of the status subresource fail with not found, and everybody with write access to the object can write its status"})
	case !before && after:
		d.add("", finding{Breaking, status, "", "{}", "writes of the object ignore its status: write it with the subresource"})
	}
	switch before, after := b.Subresources.Scale, a.Subresources.Scale; {
	case before != nil && after == nil:
		d.add("", finding{Breaking, scaleRule, text(before), "", "autoscalers and kubectl scale fail"})
	case before == nil && after != nil:
		d.add("", finding{Compatible, scaleRule, "", text(after), "autoscalers and kubectl scale can be used"})
	case before != nil && *before != *after:
		d.add("", finding{Risky, scaleRule, text(before), text(after), "autoscalers read and write other fields"})
	}
}

// columns compares printer columns, by name.
func (d *comparison) columns(before, after []column) {
	named := func(list []column, name string) *column {
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
		return nil
	}
	for _, b := range before {
		switch a := named(after, b.Name); {
		case a == nil:
			d.add("", finding{Risky, "column", text(b), "", "scripts that parse the output of kubectl don't find the column"})
		case *a != b:
			d.add("", finding{Risky, "column", text(b), text(a), "scripts that parse the output of kubectl find another value"})
		}
	}
	for _, a := range after {
		if named(before, a.Name) == nil {
			d.add("", finding{Compatible, "column", "", text(a), "kubectl prints an additional column"})
		}
	}
}
