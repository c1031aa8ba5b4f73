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

// Compare returns what has changed from one CustomResourceDefinition to the next of the same name, ordered by version and
// path. Only apiextensions.k8s.io/v1 is understood. The definitions are not changed.
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
		return nil, fmt.Errorf("%s and %s are definitions of different kinds; compare those of one name", b.Metadata.Name, a.Metadata.Name)
	}
	d := &comparison{definition: b.Metadata.Name}
	d.compare(b, a)
	sortChanges(d.changes)
	return d.changes, nil
}

// CompareAll compares all the definitions of a release with those of the next, by their names. A definition that is not
// there any more is a breaking change.
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
				Why: "where it is deleted, the server deletes all objects of the kind",
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
			all = append(all, Change{Severity: Compatible, Definition: name, Rule: "definition", New: text(name), Why: "a kind is new"})
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
			return nil, errors.New(crd.GetName() + " is there twice")
		}
		names[crd.GetName()] = crd
	}
	return names, nil
}

// comparison gathers the changes of one definition.
type comparison struct {
	definition string
	version    string // that is being compared
	changes    []Change
}

// finding is a change of which the place is known.
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

// differ adds a change of the whole definition when two values are not the same.
func (d *comparison) differ(severity Severity, rule, before, after, why string) {
	if before != after {
		d.add("", finding{severity, rule, quoted(before), quoted(after), why})
	}
}

// quoted writes a string as JSON; an empty one is absent.
func quoted(s string) string {
	if s == "" {
		return ""
	}
	return text(s)
}

func (d *comparison) compare(before, after *definition) {
	b, a := &before.Spec, &after.Spec
	const immutable = "the server refuses to change it; a definition of another name is needed"
	d.differ(Breaking, "group", b.Group, a.Group, immutable)
	d.differ(Breaking, "scope", b.Scope, a.Scope, immutable)
	d.differ(Breaking, "names.plural", b.Names.Plural, a.Names.Plural, immutable)
	d.differ(Breaking, "names.kind", b.Names.Kind, a.Names.Kind, "manifests, stored objects and owner references have the old kind")
	d.differ(Risky, "names.listKind", b.Names.ListKind, a.Names.ListKind, "readers that look at the kind of a list find another one")
	d.differ(Risky, "names.singular", b.Names.Singular, a.Names.Singular, "commands that use the old name stop working")
	d.names("names.shortNames", b.Names.ShortNames, a.Names.ShortNames, "commands that use the name stop working")
	d.names("names.categories", b.Names.Categories, a.Names.Categories, "commands that list the category don't show the kind any more")
	if b.Preserve && !a.Preserve {
		d.add("", finding{Breaking, "preserveUnknownFields", "true", "", lostOnWrite})
	}
	d.conversion(before, after)
	d.versions(before, after)
}

// names compares lists of names of which more is better.
func (d *comparison) names(rule string, before, after []string, why string) {
	gone, added := split(before, after)
	for _, name := range gone {
		d.add("", finding{Risky, rule, text(name), "", why})
	}
	for _, name := range added {
		d.add("", finding{Compatible, rule, "", text(name), "it is one more"})
	}
}

// split returns what is only in the first of two lists, and what is only in the second.
func split(before, after []string) (gone, added []string) {
	for _, name := range before {
		if !slices.Contains(after, name) {
			gone = append(gone, name)
		}
	}
	for _, name := range after {
		if !slices.Contains(before, name) {
			added = append(added, name)
		}
	}
	return gone, added
}

func (d *comparison) conversion(before, after *definition) {
	switch {
	case before.converts() && !after.converts() && len(after.Spec.Versions) > 1:
		d.add("", finding{
			Breaking, "conversion", `"Webhook"`, `"None"`,
			"objects are served in the other versions as they are stored, and what those don't know is dropped",
		})
	case before.converts() && !after.converts():
		d.add("", finding{Compatible, "conversion", `"Webhook"`, `"None"`, "there is one version, so nothing is converted"})
	case !before.converts() && after.converts():
		d.add("", finding{Risky, "conversion", `"None"`, `"Webhook"`, "objects can't be read or written while the webhook is away"})
	case before.converts():
		d.webhook(&before.Spec.Conversion.Webhook, &after.Spec.Conversion.Webhook)
	}
}

// webhook compares who converts.
func (d *comparison) webhook(before, after *webhook) {
	if !same(before.Client, after.Client) {
		d.add("", finding{
			Risky, "conversion.webhook.clientConfig", text(before.Client), text(after.Client),
			"another program converts: objects can't be read or written unless it is there, and converts alike",
		})
	}
	gone, added := split(before.ReviewVersions, after.ReviewVersions)
	for _, name := range gone {
		d.add("", finding{Risky, "conversion.webhook.conversionReviewVersions", text(name), "", "a webhook that knows no other review is not asked any more"})
	}
	for _, name := range added {
		d.add("", finding{Compatible, "conversion.webhook.conversionReviewVersions", "", text(name), "it is one more"})
	}
}

func (d *comparison) versions(before, after *definition) {
	for i := range before.Spec.Versions {
		b := &before.Spec.Versions[i]
		if a := after.version(b.Name); a != nil {
			d.version = b.Name
			d.compareVersion(b, a)
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

// dropped notes a version that is not there any more.
func (d *comparison) dropped(before, after *definition, v *version) {
	d.version = v.Name
	stored := slices.Contains(before.Status.StoredVersions, v.Name) || slices.Contains(after.Status.StoredVersions, v.Name)
	why := "requests for it are not found"
	switch {
	case stored || v.Storage:
		why = "objects are stored in it, so the server refuses the definition until they are written anew " +
			"and the version is taken out of status.storedVersions; then requests for it are not found"
	case !v.Served:
		d.add("", finding{Compatible, "version", text(v.Name), "", "it was neither served nor stored"})
		return
	}
	d.add("", finding{Breaking, "version", text(v.Name), "", why})
}

// storage compares the versions in which objects are stored.
func (d *comparison) storage(before, after *definition) {
	b, a := before.storage(), after.storage()
	if b == nil || a == nil || b.Name == a.Name {
		return
	}
	f := finding{
		Risky, "storage", text(b.Name), text(a.Name),
		"stored objects stay in " + b.Name + " until they are written again; keep it among the versions until then",
	}
	switch known := after.Status.StoredVersions; {
	case len(known) > 0 && !slices.Contains(known, b.Name):
		f.severity = Breaking
		f.why = "status.storedVersions lacks " + b.Name + ", in which objects are stored: once that version is gone they can't be read"
	case core.CompareVersions(b.Name, a.Name) > 0:
		f.why = "it is a step back: fields that only " + b.Name + " has are lost from every object that is written"
	}
	d.add("", f)
}

// compareVersion compares what a version is besides its schema, and that.
func (d *comparison) compareVersion(b, a *version) {
	switch {
	case b.Served && !a.Served:
		d.add("", finding{Breaking, "served", "true", "false", "requests for it are not found"})
	case !b.Served && a.Served:
		d.add("", finding{Compatible, "served", "false", "true", "it can be requested"})
	}
	if !b.Deprecated && a.Deprecated {
		d.add("", finding{Compatible, "deprecated", "", "true", "those who use it are warned"})
	} else if b.Deprecated && !a.Deprecated {
		d.add("", finding{Compatible, "deprecated", "true", "", "those who use it are not warned any more"})
	}
	d.subresources(b, a)
	d.columns(b.Columns, a.Columns)
	for i := range b.Selectable {
		if path := b.Selectable[i].JSONPath; !selects(a, path) {
			d.add(place(path), finding{Breaking, "selectableField", text(path), "", "field selectors that use it are refused"})
		}
	}
	for i := range a.Selectable {
		if path := a.Selectable[i].JSONPath; !selects(b, path) {
			d.add(place(path), finding{Compatible, "selectableField", "", text(path), "field selectors can use it"})
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
		d.add("", finding{Breaking, status, "{}", "", "writers of the status get not found, and anybody who may write the object may write its status"})
	case !before && after:
		d.add("", finding{Breaking, status, "", "{}", "the status that is written with the object is ignored; write it through the subresource"})
	}
	switch before, after := b.Subresources.Scale, a.Subresources.Scale; {
	case before != nil && after == nil:
		d.add("", finding{Breaking, scaleRule, text(before), "", "autoscalers and kubectl scale stop working"})
	case before == nil && after != nil:
		d.add("", finding{Compatible, scaleRule, "", text(after), "it can be scaled"})
	case before != nil && *before != *after:
		d.add("", finding{Risky, scaleRule, text(before), text(after), "autoscalers read and write other fields"})
	}
}

// columns compares what kubectl prints, by the names of the columns.
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
			d.add("", finding{Risky, "column", text(b), "", "scripts that look for it in what kubectl prints don't find it"})
		case *a != b:
			d.add("", finding{Risky, "column", text(b), text(a), "scripts that look for it in what kubectl prints find something else"})
		}
	}
	for _, a := range after {
		if named(before, a.Name) == nil {
			d.add("", finding{Compatible, "column", "", text(a), "kubectl prints one more"})
		}
	}
}
