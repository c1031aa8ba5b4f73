// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/examples/internal/plain"
	"github.com/kube-go/sdk/kube"
)

// printer prints objects.
type printer struct {
	client  *kube.Client
	options options
	out     io.Writer
	notes   io.Writer
	several bool // print names with the resource, since there are several resources
}

// objects returns the API of a resource in the selected namespace, or in the whole cluster.
func (p *printer) objects(res kube.Resource) *kube.API[unstructured.Unstructured] {
	objects := kube.Dynamic(p.client, res)
	if namespace := p.namespace(res); namespace != "" {
		return objects.In(namespace)
	}
	return objects
}

// namespace returns the selected namespace of a resource's objects. It is empty for the whole cluster.
func (p *printer) namespace(res kube.Resource) string {
	if !res.Namespaced || p.options.everywhere {
		return ""
	}
	return cmp.Or(p.options.namespace, p.client.Namespace())
}

// tables prints a table for each resource that has objects, and then watches the resource if the options say so. If one
// resource cannot be listed, tables prints the others.
func (p *printer) tables(ctx context.Context, resources []kube.Resource) error {
	found := 0
	var errs []error
	for _, res := range resources {
		t := &table{printer: p, resource: res, printed: map[kube.ObjectRef]printedRow{}, watched: map[kube.ObjectRef]bool{}}
		err := t.list(ctx)
		n, writeErr := t.print(found > 0)
		if writeErr != nil {
			return writeErr
		}
		found += n
		switch {
		case err != nil && ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			errs = append(errs, err)
		case p.options.watch:
			return t.watch(ctx)
		}
	}
	if found == 0 && errs == nil {
		fmt.Fprintln(p.notes, p.nothing(resources))
	}
	return errors.Join(errs...)
}

// nothing returns the message that no objects were found.
func (p *printer) nothing(resources []kube.Resource) string {
	message := "no objects found"
	if len(resources) == 1 {
		message = "no " + resources[0].String() + " found"
	}
	if len(resources) > 0 && p.namespace(resources[0]) != "" {
		message += " in namespace " + p.namespace(resources[0])
	}
	return message
}

// byName is the field selector of one object, without its name.
const byName = "metadata.name="

// selections returns the options of the list requests: one request for all objects, or one for each name.
func (p *printer) selections() []kube.ListOptions {
	if len(p.options.names) == 0 {
		return []kube.ListOptions{{LabelSelector: p.options.selector, Limit: 500}}
	}
	var all []kube.ListOptions
	for _, name := range p.options.names {
		all = append(all, kube.ListOptions{FieldSelector: byName + name})
	}
	return all
}

// pages fetches all pages of a table.
func (p *printer) pages(ctx context.Context, res kube.Resource, o kube.ListOptions) (*metav1.Table, error) {
	objects := p.objects(res)
	all, err := objects.Table(ctx, &o)
	for err == nil && all.Continue != "" {
		var page *metav1.Table
		o.Continue = all.Continue
		page, err = objects.Table(ctx, &o)
		if errors.Is(err, kube.ErrExpired) { // the continue token is too old: list everything in one request
			return objects.Table(ctx, &kube.ListOptions{LabelSelector: o.LabelSelector, FieldSelector: o.FieldSelector})
		}
		if err == nil {
			all.Rows = append(all.Rows, page.Rows...)
			all.ListMeta = page.ListMeta
		}
	}
	return all, err
}

// table is the table of a resource's objects.
type table struct {
	*printer
	resource kube.Resource
	printed  map[kube.ObjectRef]printedRow
	watched  map[kube.ObjectRef]bool // the objects that the watch has reported
	shown    []int                   // indexes of the printed columns
	header   []string
	rows     [][]string // rows to print
	begun    bool       // the header is printed
	widths   []int      // of the columns
}

// printedRow is the last row that was printed for an object.
type printedRow struct {
	version string // resource version of the object
	cells   []string
}

// list adds the existing objects. A named object that does not exist is an error, unless it is watched.
func (t *table) list(ctx context.Context) error {
	for _, selected := range t.selections() {
		all, err := t.pages(ctx, t.resource, selected)
		if err != nil {
			return err
		}
		name, named := strings.CutPrefix(selected.FieldSelector, byName)
		if named && len(all.Rows) == 0 && !t.options.watch {
			ref := kube.ObjectRef{Namespace: t.namespace(t.resource), Name: name}
			return fmt.Errorf("get %s %s: not found", t.resource, ref)
		}
		t.add(all)
	}
	return nil
}

// add adds the rows of a page.
func (t *table) add(page *metav1.Table) {
	if len(page.ColumnDefinitions) > 0 && t.header == nil {
		t.columns(page.ColumnDefinitions)
	}
	for _, row := range page.Rows {
		cells := t.cells(row)
		t.rows = append(t.rows, cells)
		if t.options.watch {
			meta := metaOf(row)
			t.printed[kube.RefOf(&meta)] = printedRow{meta.ResourceVersion, cells}
		}
	}
}

// columns selects the columns to print. Columns of lower priority are only for wide tables.
func (t *table) columns(defs []metav1.TableColumnDefinition) {
	if t.options.everywhere && t.resource.Namespaced {
		t.header = append(t.header, "NAMESPACE")
	}
	for i, def := range defs {
		if def.Priority == 0 || t.options.format == "wide" {
			t.shown = append(t.shown, i)
			t.header = append(t.header, strings.ToUpper(def.Name))
		}
	}
}

// cells returns the cells to print for a row.
func (t *table) cells(row metav1.TableRow) []string {
	meta := metaOf(row)
	name := strings.ToLower(t.resource.Kind)
	if t.resource.Group != "" {
		name += "." + t.resource.Group
	}
	name += "/" + meta.Name
	if t.options.format == "name" {
		return []string{name}
	}
	var cells []string
	if t.options.everywhere && t.resource.Namespaced {
		cells = append(cells, plain.Text(meta.Namespace))
	}
	for n, i := range t.shown {
		cell := "<none>"
		if i < len(row.Cells) && row.Cells[i] != nil {
			cell = plain.Text(fmt.Sprint(row.Cells[i]))
		}
		if n == 0 && t.several { // the first column is the name
			cell = plain.Text(name)
		}
		cells = append(cells, cell)
	}
	return cells
}

// metaOf returns the metadata of a row's object. It is empty if the server did not send it.
func metaOf(row metav1.TableRow) metav1.ObjectMeta {
	var obj metav1.PartialObjectMetadata
	if json.Unmarshal(row.Object.Raw, &obj) != nil {
		return metav1.ObjectMeta{}
	}
	return obj.ObjectMeta
}

// print prints the rows that were added since the last call and returns their number. The first call also prints the
// header, after an empty line if gap is set.
func (t *table) print(gap bool) (int, error) {
	rows := t.rows
	t.rows = nil
	if len(rows) == 0 {
		return 0, nil
	}
	var text strings.Builder
	lines := rows
	if !t.begun && t.options.format != "name" {
		lines = append([][]string{t.header}, rows...)
		if gap {
			text.WriteByte('\n')
		}
	}
	t.begun = true
	for _, line := range lines {
		for i, cell := range line {
			if i == len(t.widths) {
				t.widths = append(t.widths, 0)
			}
			t.widths[i] = max(t.widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, line := range lines {
		var padded strings.Builder
		for i, cell := range line {
			padded.WriteString(cell + strings.Repeat(" ", t.widths[i]-utf8.RuneCountInString(cell)+3))
		}
		text.WriteString(strings.TrimRight(padded.String(), " ") + "\n")
	}
	_, err := io.WriteString(t.out, text.String())
	return len(rows), err
}

// flush prints the rows that were added during a watch.
func (t *table) flush() error {
	_, err := t.print(false)
	return err
}
